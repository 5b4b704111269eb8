/** How many checks in a row must find room for a larger share before it is granted. */
const CHECKS_BEFORE_GROWTH = 10;

/** The smallest share: with one call at a time, a connection does not use it up, and so does not count as busy. */
const FEWEST = 2;

/** The most streams that all busy connections may have in total, and that all open connections may have. */
interface Budget {
  readonly busy: number;
  readonly open: number;
}

/**
 * The number of streams that each connection may have open. The busy connections share one budget evenly, rounded down
 * to a power of two, after the quiet connections, which need few streams. All connections share a larger budget
 * until they are busy, since all may become busy at once. A share shrinks at once but grows only after a while, so that
 * it does not change with every connection that opens or closes.
 */
export class StreamShare {
  readonly #most: number;
  readonly #budget: Budget;
  #share: number;
  #checks = 0;

  /** @param most the largest share, which is also the initial share */
  constructor(most: number, budget: Budget) {
    this.#most = most;
    this.#budget = budget;
    this.#share = most;
  }

  /** The share of each busy connection, while this many are busy and the quiet connections have this many streams. */
  forBusy(busy: number, quietStreams: number): number {
    const fair = this.#fairShare(busy, quietStreams);
    this.#checks = fair > this.#share ? this.#checks + 1 : 0;
    if (fair < this.#share || this.#checks >= CHECKS_BEFORE_GROWTH) {
      this.#share = fair;
      this.#checks = 0;
    }
    return this.#share;
  }

  /** The share of a new connection, which both numbers include. */
  forNew(maybeBusy: number, open: number): number {
    return Math.min(this.#share, this.forNotBusy(open), this.#fairShare(maybeBusy, 0));
  }

  /** The most that any connection that is not busy may have while this many are open. */
  forNotBusy(open: number): number {
    return this.#roundDown(this.#budget.open / Math.max(1, open));
  }

  #fairShare(busy: number, quietStreams: number): number {
    return this.#roundDown((this.#budget.busy - quietStreams) / Math.max(1, busy));
  }

  #roundDown(even: number): number {
    return even >= this.#most
      ? this.#most
      : Math.min(this.#most, 2 ** Math.floor(Math.log2(Math.max(FEWEST, even))));
  }
}
