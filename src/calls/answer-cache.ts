import { LRUCache } from 'lru-cache';

/** The overhead of an entry beyond its key and response, in bytes: V8's objects and the cache's bookkeeping. */
const ENTRY_BYTES = 300;

/**
 * A cache of encoded responses, limited by their size. They are stored as strings with one character per byte: separate
 * byte arrays would take several times as much memory.
 */
export class AnswerCache {
  readonly #answers: LRUCache<string, string>;
  #hits = 0;
  #misses = 0;

  /** @param maxBytes the limit on keys, responses and the overhead of entries; with 0, nothing is cached */
  constructor(maxBytes: number) {
    this.#answers = new LRUCache({
      maxSize: Math.max(1, maxBytes),
      sizeCalculation: (answer, key) => key.length + answer.length + ENTRY_BYTES,
    });
  }

  /** A copy of the response cached under the key. */
  get(key: string): Uint8Array | undefined {
    const answer = this.#answers.get(key);
    if (answer === undefined) {
      this.#misses++;
      return undefined;
    }
    this.#hits++;
    return Buffer.from(answer, 'latin1');
  }

  /** Caches the response under the key unless it exceeds the limit alone; evicts the least recently used entries. */
  set(key: string, { buffer, byteOffset, length }: Uint8Array): void {
    this.#answers.set(key, Buffer.from(buffer, byteOffset, length).toString('latin1'));
  }

  /** The look-ups so far, and the current number of entries and their size in bytes. */
  get figures(): {
    readonly hits: number;
    readonly misses: number;
    readonly entries: number;
    readonly bytes: number;
  } {
    return {
      hits: this.#hits,
      misses: this.#misses,
      entries: this.#answers.size,
      bytes: this.#answers.calculatedSize,
    };
  }
}
