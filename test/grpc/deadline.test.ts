import { Metadata, type ServerInterceptingCallInterface, status } from '@grpc/grpc-js';
import { expect, it, onTestFinished, vi } from 'vitest';
import type { Call } from '../../src/calls/call.js';
import { CallsEndedAtClose } from '../../src/grpc/calls-ended-at-close.js';
import { EarlyAnswers } from '../../src/grpc/early-answer.js';
import { MessageGates } from '../../src/grpc/message-gate.js';
import { ServerCall } from '../../src/grpc/server-call.js';

const PATH = '/test.Service/Echo';
const HOUR_MS = 3_600_000;

it.each([
  ['its own deadline', 2_000, 60_000],
  ['the deadline of the server', Infinity, 2_000],
])(
  'a call has the time until %s, though the wall clock jumps before its message is there',
  (_, ownMs, deadlineMs) => {
    vi.useFakeTimers({ toFake: ['Date'] });
    onTestFinished(() => {
      vi.useRealTimers();
    });
    const innermost = {
      getDeadline: () => due,
      startRead: () => undefined,
      sendStatus: () => undefined,
    } as unknown as ServerInterceptingCallInterface;
    const due = Date.now() + ownMs;
    const asked: Call[] = [];
    const pipeline = (call: Call) => {
      asked.push(call);
      return { code: status.OK, details: '', answered: true as const, trailers: new Metadata() };
    };
    const begun = performance.now();
    const answered = {
      pipeline,
      paths: new Set([PATH]),
      uncompressed: new Set<string>(),
      deadlineMs,
      maxMessageBytes: 1,
      earlyAnswers: new EarlyAnswers(1, 1, [], () => undefined),
      gates: new MessageGates(1),
    };
    const call = new ServerCall(PATH, innermost, answered, new CallsEndedAtClose());
    vi.setSystemTime(Date.now() + HOUR_MS);
    call.onReceiveMetadata(new Metadata());
    call.onReceiveMessage(Buffer.from(''));
    call.onReceiveHalfClose();
    expect(asked[0]?.deadline).toBeGreaterThanOrEqual(begun + 2_000);
    expect(asked[0]?.deadline).toBeLessThanOrEqual(performance.now() + 2_000);
  },
);
