import type { Method } from '../../src/calls/call.js';

/** A method whose requests are the raw message bytes. */
export type BytesMethod = Method<Uint8Array>;

export function bytesMethod(
  path: string,
  access: Method['access'],
  handle: BytesMethod['handle'],
  cached?: BytesMethod['cached'],
): Method {
  const method: BytesMethod = { path, access, decode: (message) => message, handle };
  return cached === undefined ? method : { ...method, cached };
}
