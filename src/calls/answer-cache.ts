import { LRUCache } from 'lru-cache';

/** What an entry takes beside its key and its answer, in bytes: objects of V8, and its places in the cache. */
const ENTRY_BYTES = 300;

/**
 * A cache of encoded answers, bounded by their bytes. They are kept as strings, a character for a byte: arrays of their
 * own would take several times as much.
 */
export class AnswerCache {
  readonly #answers: LRUCache<string, string>;
  #hits = 0;
  #misses = 0;

  /** @param maxBytes the limit on keys, answers and what each entry takes beside them; with 0, nothing is kept */
  constructor(maxBytes: number) {
    this.#answers = new LRUCache({
      maxSize: Math.max(1, maxBytes),
      sizeCalculation: (answer, key) => key.length + answer.length + ENTRY_BYTES,
    });
  }

  /** A copy of the answer kept under the key. */
  get(key: string): Uint8Array | undefined {
    const answer = this.#answers.get(key);
    if (answer === undefined) {
      this.#misses++;
      return undefined;
    }
    this.#hits++;
    return Buffer.from(answer, 'latin1');
  }

  /** Keeps the answer under the key, if it fits at all; those that were not asked for longest make room for it. */
  set(key: string, { buffer, byteOffset, length }: Uint8Array): void {
    this.#answers.set(key, Buffer.from(buffer, byteOffset, length).toString('latin1'));
  }

  /** The look-ups so far, the entries, and the bytes that they take. */
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
