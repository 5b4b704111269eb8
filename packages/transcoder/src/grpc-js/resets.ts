/** How many streams of a connection may be reset at once, and how many more each second. */
const BURST = 100;
const PER_SECOND = 3;

/** A call of grpc-js. */
export interface Cancellable {
  cancel(): void;
}

/**
 * Cancels calls by resetting their streams, at a rate that servers allow. They end a connection with too many resets,
 * and so the calls of others on it: Node after 1,000 and 33 a second, Netty at 200 in 30 seconds. A call waits for its
 * turn, or until it ends by itself.
 */
export class Resets {
  readonly #waiting = new Set<Cancellable>();
  #left = BURST;
  #timer: NodeJS.Timeout | undefined;

  cancel(call: Cancellable): void {
    this.#waiting.add(call);
    this.#send();
    this.#timer ??= setInterval(this.#refill, 1_000 / PER_SECOND).unref();
  }

  /** Forgets a call that has ended. @returns whether it was still waiting to be cancelled */
  forget(call: Cancellable): boolean {
    return this.#waiting.delete(call);
  }

  #send(): void {
    for (const call of this.#waiting) {
      if (this.#left === 0) return;
      this.#left -= 1;
      this.#waiting.delete(call);
      call.cancel();
    }
  }

  readonly #refill = (): void => {
    this.#left += 1;
    this.#send();
    if (this.#left < BURST) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  };
}
