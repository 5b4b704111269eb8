import type { Operation } from './load.js';

const REPEATED = 'repeated';
/** One of this many creates is a repeat. */
const REPEATS = 100;
/** Tells the request ids of one run of the load generator from those of others. */
const run = `${process.pid}-${Date.now()}`;
let creates = 0;

/** What one create sends: the number of its route, and its request id, if any. */
export function nextCreate(
  operation: Operation,
  n: number,
): { readonly n: number; readonly requestId: string } {
  switch (operation) {
    case 'create with key':
      return { n, requestId: `${run}-${creates++}` };
    case 'create, 1 % repeats':
      return creates++ % REPEATS === 0 ? { n: 0, requestId: REPEATED } : { n, requestId: '' };
    case 'get':
    case 'create':
    case 'echo':
      return { n, requestId: '' };
  }
}
