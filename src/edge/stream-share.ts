/** How many checks in a row must find room for more streams before a larger share is granted. */
const CHECKS_BEFORE_GROWTH = 10;

/**
 * The number of streams that each connection may have open: as many as one may have at all, until the service works on
 * more streams than it can serve. Then a power of two at which the streams at work would be few enough; connections
 * with fewer streams than that lose nothing. The share shrinks at once, but grows only after a while with half as many
 * streams at work, so that it settles.
 */
export class StreamShare {
  readonly #most: number;
  readonly #served: number;
  #share: number;
  /** The checks in a row that found at most half of the streams, and the most streams that they found. */
  #calmChecks = 0;
  #peak = 1;

  /**
   * @param most the largest share, and the initial one
   * @param served how many streams the service can work on at a time
   */
  constructor(most: number, served: number) {
    this.#most = most;
    this.#served = served;
    this.#share = most;
  }

  /** @param work how many streams of each connection the service had to work on at once since the last check */
  among(work: readonly number[]): number {
    const total = sum(work);
    if (total > this.#served / 2) {
      this.#calmChecks = 0;
      this.#peak = 1;
      if (total > this.#served) this.#shrink(work);
    } else {
      this.#peak = Math.max(this.#peak, total);
      this.#calmChecks += 1;
      if (this.#calmChecks >= CHECKS_BEFORE_GROWTH) this.#grow();
    }
    return this.#share;
  }

  /** The share of a new connection, if as many may be as busy at once. */
  ofNew(arrived: number): number {
    return Math.min(this.#share, powerOfTwo(this.#served / arrived));
  }

  #shrink(work: readonly number[]): void {
    while (this.#share > 1 && sum(work.map((streams) => Math.min(streams, this.#share))) > this.#served)
      this.#share = powerOfTwo(this.#share - 1);
  }

  /** Every connection may use as many times more streams as there is room for. */
  #grow(): void {
    this.#share = Math.min(this.#most, this.#share * powerOfTwo(this.#served / this.#peak));
    this.#calmChecks = 0;
    this.#peak = 1;
  }
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}

/** The largest power of two that is at most this number; at least 1. */
function powerOfTwo(number: number): number {
  return 2 ** Math.floor(Math.log2(Math.max(1, number)));
}
