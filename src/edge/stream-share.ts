/** How many checks in a row must find room for a larger share before it is granted. */
const CHECKS_BEFORE_GROWTH = 10;

/**
 * The streams that each busy connection may have open. The connections share one budget evenly, in powers of two. A
 * share shrinks at once but grows only after a while, so that it does not follow every connection that comes and goes.
 */
export class StreamShare {
  readonly #most: number;
  readonly #budget: number;
  #share: number;
  #checks = 0;

  /** @param most the largest share, with which connections begin */
  constructor(most: number, budget: number) {
    this.#most = most;
    this.#budget = budget;
    this.#share = most;
  }

  /** The share of each connection while this many are busy. */
  among(busy: number): number {
    const fair = this.#fair(busy);
    this.#checks = fair > this.#share ? this.#checks + 1 : 0;
    if (fair < this.#share || this.#checks >= CHECKS_BEFORE_GROWTH) {
      this.#share = fair;
      this.#checks = 0;
    }
    return this.#share;
  }

  /** The share of a new connection, as the last of this many. */
  ofNew(busy: number): number {
    return Math.min(this.#share, this.#fair(busy));
  }

  #fair(busy: number): number {
    const even = Math.max(1, this.#budget / Math.max(1, busy));
    return even >= this.#most ? this.#most : 2 ** Math.floor(Math.log2(even));
  }
}
