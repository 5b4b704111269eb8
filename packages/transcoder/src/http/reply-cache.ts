import { LRUCache } from 'lru-cache';
import type { Binding } from '../template/binding.js';

/** A body with its entity tag. */
export interface Rendered {
  readonly body: Uint8Array;
  readonly tag: string;
}

/** Renders a serialized message as the body of a response. */
export type Render = (binding: Binding, message: Uint8Array) => Rendered;

/** The look-ups of a cache so far, and its current number of entries and their size in bytes. */
export interface CacheFigures {
  readonly hits: number;
  readonly misses: number;
  readonly entries: number;
  readonly bytes: number;
}

/** The overhead of an entry beyond its key and body, in bytes: V8's objects, the tag and the cache's bookkeeping. */
const ENTRY_BYTES = 400;
/** The largest message and the largest body of an entry, in bytes, so that one reply does not evict hundreds. */
const CACHED_MAX_BYTES = 16_384;
/** The part of its bytes at which the cache counts as full: it is never filled to the last byte. */
const FULL_PART = 0.75;
/** Once the cache is full, it takes one of so many new replies: most of a scan costs and evicts nothing. */
const TAKEN_OF_NEW = 8;

/**
 * A cache of rendered replies, since rendering takes a fifth of the CPU time of a get from memory. It is by binding and
 * message: a reply follows from these alone, so that no entry becomes stale. It is asked only once the server has sent
 * the message, so it gives nobody what the server would not. All callers share it: a caller that reads many resources
 * evicts replies to others, which are then rendered once more.
 *
 * Keys and bodies are strings with one character per byte: separate byte arrays would take several times as much memory.
 */
export class ReplyCache {
  /** By number rather than by call path: bindings of one method may have different response bodies. */
  readonly #numbers: ReadonlyMap<Binding, number>;
  readonly #replies: LRUCache<string, { readonly body: string; readonly tag: string }>;
  readonly #fullBytes: number;
  #hits = 0;
  #misses = 0;

  constructor(bindings: readonly Binding[], maxBytes: number) {
    this.#fullBytes = FULL_PART * maxBytes;
    this.#numbers = new Map(bindings.map((binding, number) => [binding, number]));
    this.#replies = new LRUCache({
      maxSize: maxBytes,
      sizeCalculation: ({ body }, key) => key.length + body.length + ENTRY_BYTES,
    });
  }

  get(binding: Binding, message: Uint8Array, render: Render): Rendered {
    if (message.length > CACHED_MAX_BYTES) return render(binding, message);
    const key = `${this.#numbers.get(binding)} ${latin1(message)}`;
    const kept = this.#replies.get(key);
    if (kept !== undefined) {
      this.#hits += 1;
      return { body: Buffer.from(kept.body, 'latin1'), tag: kept.tag };
    }
    this.#misses += 1;
    const rendered = render(binding, message);
    const { body, tag } = rendered;
    if (body.length <= CACHED_MAX_BYTES && this.#takes()) this.#replies.set(key, { body: latin1(body), tag });
    return rendered;
  }

  #takes(): boolean {
    return this.#replies.calculatedSize < this.#fullBytes || this.#misses % TAKEN_OF_NEW === 0;
  }

  get figures(): CacheFigures {
    const { size, calculatedSize } = this.#replies;
    return { hits: this.#hits, misses: this.#misses, entries: size, bytes: calculatedSize };
  }
}

function latin1({ buffer, byteOffset, byteLength }: Uint8Array): string {
  return Buffer.from(buffer, byteOffset, byteLength).toString('latin1');
}
