import { overloadFailure } from './failures.js';

/** Limits how much is in progress at the same time, in all and for each key. */
export class Limiter {
  readonly #what: string;
  readonly #most: number;
  readonly #mostOfKey: number;
  readonly #ofKey = new Map<string, number>();
  #count = 0;

  /**
   * @param what is limited, for messages: `calls waiting`
   * @param mostOfKey the most of one key, which is a caller or a connection; default: no limit of its own
   */
  constructor(what: string, most: number, mostOfKey = most) {
    this.#what = what;
    this.#most = most;
    this.#mostOfKey = mostOfKey;
  }

  /**
   * Takes a place, which must be released with the same key.
   *
   * @returns undefined, or in a sentence why there is no place
   */
  acquire(key?: string): string | undefined {
    if (this.#count >= this.#most) return `It has ${this.#most} ${this.#what}.`;

    if (key !== undefined) {
      const own = this.#ofKey.get(key) ?? 0;
      if (own >= this.#mostOfKey) return `The caller has ${own} ${this.#what}.`;
      this.#ofKey.set(key, own + 1);
    }
    this.#count++;
    return undefined;
  }

  release(key?: string): void {
    this.#count--;
    if (key === undefined) return;

    const remaining = Number(this.#ofKey.get(key)) - 1;
    if (remaining > 0) this.#ofKey.set(key, remaining);
    // So that the map does not grow with every key that there ever was.
    else this.#ofKey.delete(key);
  }

  /**
   * Holds a place until the work is done.
   *
   * @throws Failure `OVERLOADED`, before the work begins
   */
  async run<T>(key: string, work: () => T | Promise<T>): Promise<T> {
    const whyNot = this.acquire(key);
    if (whyNot !== undefined) throw overloadFailure(whyNot);

    try {
      return await work();
    } finally {
      this.release(key);
    }
  }
}
