import { randomUUID } from 'node:crypto';

const SYNTAX = /^[\x21-\x7e]{1,128}$/;

/** The client's id for a call if it is 1 to 128 visible ASCII characters, otherwise a new one. */
export function requestIdOf(given: unknown): string {
  return typeof given === 'string' && SYNTAX.test(given) ? given : randomUUID();
}
