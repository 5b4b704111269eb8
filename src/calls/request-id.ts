import { randomUUID } from 'node:crypto';
import { REQUEST_ID_MAX, REQUEST_ID_SYNTAX } from '../registry/registry.js';

/** The client's id for a call if it is 1 to 128 visible ASCII characters, otherwise a new one. */
export function requestIdOf(given: unknown): string {
  if (typeof given !== 'string' || given.length > REQUEST_ID_MAX) return randomUUID();
  return REQUEST_ID_SYNTAX.test(given) ? given : randomUUID();
}
