import { performance } from 'node:perf_hooks';
import { deadlineExceeded } from '../failures/failure.js';

/** How long work may take in one turn of the event loop, in milliseconds; what has begun is finished. */
const TURN_MS = 5;

interface Piece {
  readonly deadline: number;
  readonly run: () => void;
  readonly refuse: (failure: Error) => void;
}

/**
 * Work that clients can make expensive, in pieces. They run one after the other and for a short time in each turn of
 * the event loop, so that however many are due, other requests are served in between.
 */
export class PacedWork {
  readonly #now: () => number;
  #due: Piece[] = [];

  constructor(now: () => number) {
    this.#now = now;
  }

  /**
   * Runs a piece of work when its turn comes.
   *
   * @param deadline in milliseconds since the epoch.
   * @throws Failure `DEADLINE_EXCEEDED` if it has not begun by then, or what the work throws.
   */
  run<Result>(deadline: number, work: () => Result | Promise<Result>): Promise<Result> {
    return new Promise<Result>((resolve, refuse) => {
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
      if (deadline <= this.#now()) refuse(deadlineExceeded());
      else if (performance.now() < turnEnds) run();
      else return true;
      return false;
    });
    if (this.#due.length > 0) setImmediate(this.#turn);
  };
}
