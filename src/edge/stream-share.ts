/** How many looks in a row must find room for a larger share before it is granted. */
const PATIENT_LOOKS = 10;

/**
 * The streams that each busy connection may have open. The connections share one budget evenly, in powers of two. A
 * share shrinks at once but grows only after a while, so that it does not follow every connection that comes and goes.
 */
export class StreamShare {
  readonly #most: number;
  readonly #budget: number;
  #share: number;
  #looks = 0;

  /** @param most the largest share, with which connections begin */
  constructor(most: number, budget: number) {
    this.#most = most;
    this.#budget = budget;
    this.#share = most;
  }

  /** The share of each connection while this many are busy. */
  among(busy: number): number {
    const fair = this.#fair(busy);
    this.#looks = fair > this.#share ? this.#looks + 1 : 0;
    if (fair < this.#share || this.#looks >= PATIENT_LOOKS) {
      this.#share = fair;
      this.#looks = 0;
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
