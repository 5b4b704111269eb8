import { once } from 'node:events';
import { describe, expect, it, onTestFinished } from 'vitest';
import { firstBlock } from '../../bench/load/hpack.js';
import { abortsAfterSessionError, abortsAtPing } from '../../src/run/http2-faults.js';
import {
  ACK,
  DATA,
  END_HEADERS,
  END_STREAM,
  type Frame,
  frame,
  GOAWAY,
  grpcHead,
  HEADERS,
  number,
  PING,
  PREFACE,
  SETTINGS,
  socketTo,
} from '../support/http2-frames.js';
import { Programs } from '../support/process.js';
import { SERVICE_SETTINGS } from '../support/service.js';

const NOTHING = Buffer.alloc(0);
const INTERNAL_ERROR = 2;

function goaway(code: number): Frame {
  return { type: GOAWAY, flags: 0, stream: 0, payload: Buffer.concat([number(0), number(code)]) };
}

const REQUEST_HEAD: Frame = {
  type: HEADERS,
  flags: END_HEADERS,
  stream: 1,
  payload: firstBlock(grpcHead('/grpc.health.v1.Health/Check')),
};
const REQUEST_BODY: Frame = { type: DATA, flags: END_STREAM, stream: 1, payload: Buffer.alloc(5) };
const PING_ACK: Frame = { type: PING, flags: ACK, stream: 0, payload: Buffer.alloc(8) };
const SHORT_PING: Frame = { type: PING, flags: 0, stream: 0, payload: Buffer.alloc(7) };

/** Sends frames to the service; returns whether they aborted it. */
async function isAbortedBy(frames: readonly Frame[]): Promise<boolean> {
  const programs = new Programs();
  onTestFinished(() => programs.end());
  const program = programs.start('main', [], { ...SERVICE_SETTINGS, DATABASE_URL: 'sqlite::memory:' });
  const { grpc } = await program.line('listening');
  const sent = [{ type: SETTINGS, flags: 0, stream: 0, payload: NOTHING }, ...frames];
  const socket = socketTo(String(grpc)).on('error', () => undefined);
  socket
    .resume()
    .end(
      Buffer.concat([
        PREFACE,
        ...sent.map(({ type, flags, stream, payload }) => frame(type, flags, stream, payload)),
      ]),
    );
  await once(socket, 'close');
  const { exitCode } = await program.stop();
  return exitCode === null;
}

describe('the running Node', () => {
  it('aborts on a PING of the wrong length exactly where that is expected', async () => {
    expect(await isAbortedBy([goaway(0), REQUEST_HEAD, SHORT_PING])).toBe(abortsAtPing());
  });

  it.each([
    ['a GOAWAY with an error', goaway(INTERNAL_ERROR)],
    ['a PING with ACK that answers none', PING_ACK],
  ])('aborts on a request after %s exactly where that is expected', async (_, frame) => {
    expect(await isAbortedBy([frame, REQUEST_HEAD, REQUEST_BODY])).toBe(abortsAfterSessionError());
  });
});

it.each([
  [{ nghttp2: '1.61.0' }, true],
  [{ nghttp2: '1.68.1' }, true],
  [{ nghttp2: '1.69.0' }, false],
  [{ nghttp2: '2.0.0' }, false],
])('%j aborts on a PING of the wrong length: %s', (versions, expected) => {
  expect(abortsAtPing(versions)).toBe(expected);
});

it.each([
  [{ node: '20.20.2' }, false],
  [{ node: '22.23.2' }, false],
  [{ node: '22.23.3' }, true],
  [{ node: '24.21.0' }, false],
  [{ node: '26.8.2' }, true],
  [{ node: '26.9.0' }, true],
  [{ node: '26.10.0' }, false],
])('%j aborts on a request after a session error: %s', (versions, expected) => {
  expect(abortsAfterSessionError(versions)).toBe(expected);
});
