import { Metadata, status } from '@grpc/grpc-js';
import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import type { Call, Interceptor } from '../../src/calls/call.js';
import { logCalls } from '../../src/calls/call-log.js';
import { createPipeline, type Pipeline } from '../../src/calls/pipeline.js';
import { bytesMethod } from '../support/bytes-method.js';
import { Caller } from '../../packages/transcoder/test/support/caller.js';
import { pipelineOptions } from '../support/pipeline-options.js';

const METHOD = bytesMethod('/test.Service/Method', { scope: 's' }, () => new Uint8Array());

const call: Call = {
  path: METHOD.path,
  message: new Uint8Array(),
  metadata: new Metadata(),
  deadline: Infinity,
  cancellation: new Caller(),
};

/** A pipeline that refuses every call, because the keys that verify tokens are unavailable. */
function pipelineWith(observers: readonly Interceptor[], lines: string[] = []): Pipeline {
  const logger = pino({ level: 'debug' }, { write: (line) => lines.push(line) });
  const cause = new Error('away');
  const refusal = { ok: false, reason: 'KEYS_UNAVAILABLE', message: 'No keys.', cause } as const;
  const authenticator = { authenticate: () => refusal };
  const options = pipelineOptions({ authenticator }, logger);
  const all = [...observers, logCalls(options.log)];
  return createPipeline([METHOD], { ...options, observers: all });
}

describe('an observer of calls', () => {
  it('sees the reply and why the call failed', async () => {
    const seen: unknown[] = [];
    const observer: Interceptor = (context, next) => {
      const reply = next(context);
      seen.push(reply, context.reason);
      return reply;
    };
    const reply = await pipelineWith([observer])(call);
    expect(reply.code).toBe(status.UNAVAILABLE);
    expect(seen).toEqual([reply, 'KEYS_UNAVAILABLE']);
  });

  it('adds fields to each log line about the call', async () => {
    const lines: string[] = [];
    const observer: Interceptor = (context, next) => {
      context.fields = { trace: '7' };
      return next(context);
    };
    await pipelineWith([observer], lines)(call);
    expect(lines.map((line) => JSON.parse(line) as unknown)).toMatchObject([
      { msg: 'No keys.', trace: '7' },
      { msg: 'request refused', trace: '7' },
    ]);
  });

  it('runs inside the observer before it', async () => {
    const order: number[] = [];
    const numbered =
      (number: number): Interceptor =>
      (context, next) => {
        order.push(number);
        return next(context);
      };
    await pipelineWith([numbered(1), numbered(2)])(call);
    expect(order).toEqual([1, 2]);
  });
});
