import type { ClientHttp2Session, ClientHttp2Stream } from 'node:http2';
import { status } from '@grpc/grpc-js';
import { expect } from 'vitest';
import { WATCH_PATH } from '../../src/grpc/health.js';
import { frameMessage, outcomeOf, requestOn } from './http2-call.js';
import { ECHO } from './test-grpc-server.js';

/** A request of the test methods. */
export const MESSAGE = frameMessage(Buffer.from('m'));

/** Short times, so that what a server does late happens within a test, in milliseconds. */
export const FAST_TIMES = {
  /** The interval of the checks. Every tenth one ends what is overdue. */
  checkMs: 10,
  /** How long a client may take to acknowledge the settings, or to disappear after the end. */
  patienceMs: 300,
  /** How long a stream may stay open beyond the time limit of its call. */
  resetMs: 200,
};

/** Makes a call, which must succeed. */
export async function expectEcho(session: ClientHttp2Session): Promise<void> {
  const { code } = await outcomeOf(requestOn(session, ECHO).end(MESSAGE));
  expect(code).toBe(status.OK);
}

/** Begins a call whose end does not matter. */
export function beginCall(session: ClientHttp2Session, path: string, message = MESSAGE): ClientHttp2Stream {
  return requestOn(session, path)
    .on('error', () => undefined)
    .end(message);
}

/** Begins to watch the health of the server, whose first response comes at once. */
export function beginWatch(session: ClientHttp2Session): ClientHttp2Stream {
  return beginCall(session, WATCH_PATH, frameMessage(new Uint8Array()));
}
