/** How many looks in a row must find that there is more for each connection before it is given. */
const PATIENT_LOOKS = 10;

/**
 * The streams that each busy connection may have open. Together they have a budget, which they share evenly, in powers
 * of two. A share shrinks at once and grows only after a while, so that it does not follow every connection that comes
 * and goes.
 */
export class StreamShare {
  readonly #most: number;
  readonly #budget: number;
  #share: number;
  #looks = 0;

  /** @param most the largest share, which connections have from their beginning */
  constructor(most: number, budget: number) {
    this.#most = most;
    this.#budget = budget;
    this.#share = most;
  }

  /** The share of each connection while so many are busy. */
  among(busy: number): number {
    const fair = this.#fair(busy);
    this.#looks = fair > this.#share ? this.#looks + 1 : 0;
    if (fair < this.#share || this.#looks >= PATIENT_LOOKS) {
      this.#share = fair;
      this.#looks = 0;
    }
    return this.#share;
  }

  /** The share that a connection begins with, as the last one of so many. */
  ofNew(busy: number): number {
    return Math.min(this.#share, this.#fair(busy));
  }

  #fair(busy: number): number {
    const even = Math.max(1, this.#budget / Math.max(1, busy));
    return even >= this.#most ? this.#most : 2 ** Math.floor(Math.log2(even));
  }
}
