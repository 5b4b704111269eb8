import type { Method } from '../../src/calls/call.js';

/** A method whose requests are the raw message bytes. */
export type BytesMethod = Method<Uint8Array>;

export function bytesMethod(
  path: string,
  access: Method['access'],
  handle: BytesMethod['handle'],
  cachedResponse?: BytesMethod['cachedResponse'],
): Method {
  const method: BytesMethod = { path, access, decode: (message) => message, handle };
  return cachedResponse === undefined ? method : { ...method, cachedResponse };
}
