import { performance } from 'node:perf_hooks';
import { deadlineExceeded } from '../failures/failure.js';
import type { ArrivingPlaces } from './arriving-places.js';

/** How long work may take in one turn of the event loop, in milliseconds; what has begun is finished. */
const TURN_MS = 5;

interface Piece {
  readonly deadline: number;
  readonly run: () => void;
  readonly refuse: (failure: Error) => void;
}

/**
 * Work that clients can make expensive, in pieces. They run one after the other and for a short time in each turn of
 * the event loop, so that however many are due, other requests are served in between. Until its turn comes, a request
 * counts as arriving.
 */
export class PacedWork {
  readonly #now: () => number;
  readonly #places: ArrivingPlaces;
  #due: Piece[] = [];

  constructor(now: () => number, places: ArrivingPlaces) {
    this.#now = now;
    this.#places = places;
  }

  /**
   * Runs a piece of work when its turn comes.
   *
   * @param deadline in milliseconds since the epoch.
   * @throws Failure `OVERLOADED`, `DEADLINE_EXCEEDED` if it has not begun by then, or what the work throws.
   */
  run<Result>(deadline: number, work: () => Result | Promise<Result>): Promise<Result> {
    return new Promise<Result>((resolve, refuse) => {
      this.#places.take();
      const run = (): void => {
        // What the work throws rejects the inner promise.
        resolve(
          new Promise<Result>((settle) => {
            settle(work());
          }),
        );
      };
      if (this.#due.push({ deadline, run, refuse }) === 1) setImmediate(this.#turn);
    });
  }

  readonly #turn = (): void => {
    const turnEnds = performance.now() + TURN_MS;
    this.#due = this.#due.filter(({ deadline, run, refuse }) => {
      const isLate = deadline <= this.#now();
      if (!isLate && performance.now() >= turnEnds) return true;
      this.#places.leave();
      if (isLate) refuse(deadlineExceeded());
      else run();
      return false;
    });
    if (this.#due.length > 0) setImmediate(this.#turn);
  };
}
