import { createHash } from 'node:crypto';

/** Choices that the same seed and stream always repeat. */
export class Random {
  #state: number;

  /** @param stream an independent sequence of the seed: the number of a case */
  constructor(seed: number, stream: number) {
    // The generator needs a state other than 0.
    this.#state = createHash('sha256').update(`${seed}/${stream}`).digest().readInt32LE() | 1;
  }

  /** A whole number from 0 to `limit` - 1. */
  below(limit: number): number {
    // Xorshift with 32 bits (Marsaglia, 2003).
    this.#state ^= this.#state << 13;
    this.#state ^= this.#state >>> 17;
    this.#state ^= this.#state << 5;
    return Math.floor(((this.#state >>> 0) / 2 ** 32) * limit);
  }

  /** A whole number from `min` to `max`. */
  between(min: number, max: number): number {
    return min + this.below(max - min + 1);
  }

  /** True in so many of a hundred cases. */
  percent(share: number): boolean {
    return this.below(100) < share;
  }

  /** @throws Error when there is nothing to pick from */
  pick<T>(items: ArrayLike<T>): T {
    const index = this.below(items.length);
    if (index >= items.length) throw new Error('There is nothing to pick from.');
    return items[index] as T;
  }

  /** So many items, each made anew. */
  list<T>(length: number, make: () => T): T[] {
    return Array.from({ length }, make);
  }

  bytes(length: number): Buffer {
    const bytes = Buffer.allocUnsafe(length);
    for (let at = 0; at < length; at++) bytes[at] = this.below(256);
    return bytes;
  }
}
