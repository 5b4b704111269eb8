import { describe, expect, it, onTestFinished } from 'vitest';
import { firstBlock } from '../../bench/load/hpack.js';
import { abortsAfterSessionError, abortsAtPing } from '../../src/run/start.js';
import { FrameConnection } from '../support/frame-connection.js';
import {
  ACK,
  DATA,
  END_HEADERS,
  END_STREAM,
  GOAWAY,
  grpcHead,
  HEADERS,
  number,
  PING,
  socketTo,
} from '../support/http2-frames.js';
import { Programs } from '../support/process.js';
import { SERVICE_SETTINGS } from '../support/service.js';

type SentFrame = Parameters<FrameConnection['send']>;

const INTERNAL_ERROR = 2;
const REQUEST_HEAD: SentFrame = [
  HEADERS,
  END_HEADERS,
  1,
  firstBlock(grpcHead('/grpc.health.v1.Health/Check')),
];
const REQUEST_BODY: SentFrame = [DATA, END_STREAM, 1, Buffer.alloc(5)];
const PING_ACK: SentFrame = [PING, ACK, 0, Buffer.alloc(8)];
const SHORT_PING: SentFrame = [PING, 0, 0, Buffer.alloc(7)];

function goaway(code: number): SentFrame {
  return [GOAWAY, 0, 0, Buffer.concat([number(0), number(code)])];
}

/** Sends frames to the service; returns whether they aborted it. */
async function isAbortedBy(frames: readonly SentFrame[]): Promise<boolean> {
  const programs = new Programs();
  onTestFinished(() => programs.end());
  const program = programs.start('main', [], { ...SERVICE_SETTINGS, DATABASE_URL: 'sqlite::memory:' });
  const { grpc } = await program.line('listening');
  // An abort may reset the connection.
  const socket = socketTo(String(grpc)).on('error', () => undefined);
  const connection = new FrameConnection(socket, {}, () => undefined);
  for (const frame of frames) connection.send(...frame);
  await new Promise((resolve) => socket.once('close', resolve));
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
