import { setImmediate as nextTurn } from 'node:timers/promises';
import { status } from '@grpc/grpc-js';

/** How long other work of the process may have to wait, in milliseconds. */
const MAX_TURN_MS = 10;
/** The number of messages, or of uses of types, that take far less. */
const ITEMS_PER_SLICE = 1_000;

/** Divides long work into slices, between which the process does its other work. */
export class TimeSlices {
  readonly #deadline: number;
  /** When other work should run, by the clock of `performance.now()`. */
  #turnEndsAt = 0;

  /** @param deadline of the work, in milliseconds since the epoch. */
  constructor(deadline: number) {
    this.#deadline = deadline;
  }

  /** The items in slices, with pauses between them. */
  async *of<Item>(items: Iterable<Item>): AsyncGenerator<readonly Item[]> {
    let slice: Item[] = [];
    for (const item of items) {
      slice.push(item);
      if (slice.length < ITEMS_PER_SLICE) continue;
      yield slice;
      slice = [];
      await this.pause();
    }
    yield slice;
    await this.pause();
  }

  /**
   * Lets other work run if it is time to.
   *
   * @throws Error (rejects) with the code `DEADLINE_EXCEEDED` if the deadline has passed.
   */
  async pause(): Promise<void> {
    if (performance.now() < this.#turnEndsAt) return;
    await nextTurn();
    if (Date.now() >= this.#deadline)
      throw Object.assign(new Error('The deadline has passed.'), { code: status.DEADLINE_EXCEEDED });
    this.#turnEndsAt = performance.now() + MAX_TURN_MS;
  }
}
