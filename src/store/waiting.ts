import type { Signal } from '../registry/route-store.js';

/** Something that waits for the database as long as somebody waits for its outcome. */
export interface Waiting {
  readonly signal: Signal | undefined;
}

/** Whether somebody still waits for the outcome. */
export function isWanted({ signal }: Waiting): boolean {
  return signal?.aborted !== true;
}

/** Nobody waited for the outcome any more when the statement could have been sent. */
export class NotSent extends Error {
  override readonly name = 'NotSent';

  constructor() {
    super('The call ended before its statement was sent.');
  }
}
