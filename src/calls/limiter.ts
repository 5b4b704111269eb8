import type { Failure } from '../registry/failure.js';
import type { CallReason } from './call.js';
import { overloadFailure } from './failures.js';

/** Limits how much is in progress at the same time, in all and for each key. */
export class Limiter {
  readonly #what: string;
  readonly #most: number;
  readonly #mostOfKey: number;
  readonly #ofKey = new Map<string, number>();
  #count = 0;

  /**
   * @param what names what is limited, for messages: `calls waiting`
   * @param mostOfKey the most in progress for one key, which is a caller or a connection; default: `most`
   */
  constructor(what: string, most: number, mostOfKey = most) {
    this.#what = what;
    this.#most = most;
    this.#mostOfKey = mostOfKey;
  }

  /**
   * Takes a place if there is a free one. It must be released with the same key.
   *
   * @returns whether a place was taken
   */
  acquire(key?: string): boolean {
    if (this.#count >= this.#most) return false;

    if (key !== undefined) {
      const own = this.#ofKey.get(key) ?? 0;
      if (own >= this.#mostOfKey) return false;
      this.#ofKey.set(key, own + 1);
    }
    this.#count++;
    return true;
  }

  /**
   * The failure `OVERLOADED` for want of a place. Its message says whether the service ("It") has reached its limit, or
   * the caller; a limiter whose keys are connections has a failure of its own.
   */
  get failure(): Failure<CallReason> {
    const full = this.#count >= this.#most;
    const why = full ? `It has ${this.#most}` : `The caller has ${this.#mostOfKey}`;
    return overloadFailure(`${why} ${this.#what}.`);
  }

  /** @throws Error if no place was taken with the key: otherwise a mistake would raise the limit for good */
  release(key?: string): void {
    if (key !== undefined) this.#releaseOwn(key);
    this.#count--;
  }

  #releaseOwn(key: string): void {
    const own = this.#ofKey.get(key);
    if (own === undefined) throw new Error('A place was released with a key that holds none.');

    if (own > 1) this.#ofKey.set(key, own - 1);
    // So that the map does not grow with every key that there ever was.
    else this.#ofKey.delete(key);
  }

  /**
   * Holds a place until the work is done.
   *
   * @throws Failure `OVERLOADED`, before the work begins
   */
  async run<T>(key: string, work: () => T | Promise<T>): Promise<T> {
    if (!this.acquire(key)) throw this.failure;

    try {
      return await work();
    } finally {
      this.release(key);
    }
  }
}
