import { LRUCache } from 'lru-cache';

/** The overhead of an entry beyond its key and response, in bytes: V8's objects and the cache's bookkeeping. */
const ENTRY_BYTES = 300;

/**
 * A cache of encoded responses, limited by their size. They are stored as strings with one character per byte: separate
 * byte arrays would take several times as much memory.
 */
export class MessageCache {
  readonly #messages: LRUCache<string, string>;
  #hits = 0;
  #misses = 0;

  /** @param maxBytes the limit on keys, responses and the overhead of entries; with 0, nothing is cached */
  constructor(maxBytes: number) {
    this.#messages = new LRUCache({
      // lru-cache takes no 0; no entry fits into 1 byte.
      maxSize: Math.max(1, maxBytes),
      sizeCalculation: (message, key) => key.length + message.length + ENTRY_BYTES,
    });
  }

  /** A copy of the response cached under the key. */
  get(key: string): Uint8Array | undefined {
    const message = this.#messages.get(key);
    if (message === undefined) {
      this.#misses++;
      return undefined;
    }
    this.#hits++;
    return Buffer.from(message, 'latin1');
  }

  /** Caches the response under the key unless it exceeds the limit alone; evicts the least recently used entries. */
  set(key: string, { buffer, byteOffset, length }: Uint8Array): void {
    this.#messages.set(key, Buffer.from(buffer, byteOffset, length).toString('latin1'));
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
      entries: this.#messages.size,
      bytes: this.#messages.calculatedSize,
    };
  }
}
