import type { Signal } from '../registry/route-store.js';

/** Something that waits for the database, as long as its outcome is wanted. */
export interface Waiting {
  readonly signal: Signal | undefined;
}

/** Whether the outcome is still wanted. */
export function isWanted({ signal }: Waiting): boolean {
  return signal?.aborted !== true;
}

/** The outcome was no longer wanted when the statement could have been sent. */
export class NotSent extends Error {
  override readonly name = 'NotSent';

  constructor() {
    super('The call ended before its statement was sent.');
  }
}
