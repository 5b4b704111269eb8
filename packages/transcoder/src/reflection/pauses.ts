import { setImmediate as nextTurn } from 'node:timers/promises';
import { status } from '@grpc/grpc-js';

/** How long other work of the process may have to wait, in milliseconds. */
const SLICE_MS = 10;

/** Divides long work into slices, between which the process does its other work. */
export class Pauses {
  readonly #deadline: number;
  #until = 0;

  /** @param deadline of the work, in milliseconds since the epoch. */
  constructor(deadline: number) {
    this.#deadline = deadline;
  }

  /** Whether it is time for a pause. */
  get due(): boolean {
    return performance.now() >= this.#until;
  }

  /** @throws Error (rejects) with the code `DEADLINE_EXCEEDED` if the deadline has passed. */
  async take(): Promise<void> {
    await nextTurn();
    if (Date.now() >= this.#deadline)
      throw Object.assign(new Error('The deadline has passed.'), { code: status.DEADLINE_EXCEEDED });
    this.#until = performance.now() + SLICE_MS;
  }
}
