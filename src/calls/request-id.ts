import { randomUUID } from 'node:crypto';
import type { Metadata } from '@grpc/grpc-js';

/** The metadata and trailer that name a call in every log line and error. */
export const REQUEST_ID_KEY = 'x-request-id';

const VALID = /^[\x21-\x7e]{1,128}$/;

/** The caller's name for the call, if it is 1 to 128 visible ASCII characters, else a new one. */
export function requestIdOf(metadata: Metadata): string {
  const given = metadata.get(REQUEST_ID_KEY)[0];
  return typeof given === 'string' && VALID.test(given) ? given : randomUUID();
}
