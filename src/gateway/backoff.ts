/** The first wait, in milliseconds; each further one is longer by the factor, up to the longest. */
const FIRST_MS = 100;
const FACTOR = 1.6;
const LONGEST_MS = 1_000;
/** How far a wait may be off its length, as a share: so that many callers do not come back at once. */
const JITTER = 0.2;

/** When a connection that can not be had may be tried again (gRPC Connection Backoff Protocol). */
export class Backoff {
  readonly #now: () => number;
  #waitMs = FIRST_MS;
  #until = -Infinity;

  /** @param now a clock that never goes back, in milliseconds; default: the process's. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Whether it is too early for another attempt. */
  get running(): boolean {
    return this.#now() < this.#until;
  }

  /** An attempt begins: if it fails, the next one comes not before the wait that is counted from here. */
  begin(): void {
    this.#until = this.#now() + this.#waitMs * (1 + JITTER * (2 * Math.random() - 1));
    this.#waitMs = Math.min(this.#waitMs * FACTOR, LONGEST_MS);
  }

  /** The attempt succeeded: what comes after is a new story. */
  reset(): void {
    this.#waitMs = FIRST_MS;
    this.#until = -Infinity;
  }
}
