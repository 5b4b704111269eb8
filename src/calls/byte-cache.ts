import { randomInt } from 'node:crypto';

/** The number of entries in a bucket of the index. */
const WAYS = 8;
/** The least number of cache bytes per place in the index: the size of a small entry. */
const BYTES_PER_PLACE = 128;
/** The words of a place in the index, which describe its entry. */
const PLACE_WORDS = 3;
/** The hash of the entry's key. */
const HASH = 0;
/** The word at which the entry begins. */
const START = 1;
/** The round in which the entry was written; 0 for an unused place. */
const ROUND = 2;
/** Each entry begins with its place in the index and the lengths of its key and its value. */
const HEAD_WORDS = 3;
const KEY_BYTES = 1;
const VALUE_BYTES = 2;
const WORD_BYTES = 4;
/** High enough that an unused place is too old. */
const FIRST_ROUND = 2;

/**
 * A bounded cache from byte strings to byte strings; its limit includes the index. The bytes lie outside V8's heap, so
 * the garbage collector never walks through them, and the operating system provides the memory as it fills.
 *
 * The entries lie in a ring, and a new one overwrites the oldest; an entry that is read shortly before it would be
 * overwritten moves to the front. The index holds where an entry begins and in which round it was written, which shows
 * whether it has been overwritten since: nothing is ever removed. It also holds the hash, so that only the right entry
 * is read: most entries are in no processor cache.
 */
export class ByteCache {
  readonly #bytes: Buffer;
  /** The same bytes as words, for the lengths. */
  readonly #words: Int32Array;
  /** Buckets of places. */
  readonly #index: Int32Array;
  readonly #bucketMask: number;
  /** The word at which the next entry begins, if it fits before the end of the ring. */
  #head = 0;
  /** The current round of writing. */
  #round = FIRST_ROUND;
  /** The word at which the oldest entry of the last round begins, and the one at which the latest ends. */
  #oldest = 0;
  #lastEnd = 0;
  #entries = 0;

  #hits = 0;
  #misses = 0;
  /** A secret seed for the hash, so that nobody can choose keys that share a bucket. */
  readonly #seed = randomInt(2 ** 32);

  /** @param maxBytes the limit in bytes; below about 110, nothing is kept. */
  constructor(maxBytes: number) {
    const buckets = 2 ** Math.floor(Math.log2(Math.max(1, maxBytes / BYTES_PER_PLACE / WAYS)));
    this.#bucketMask = buckets - 1;
    this.#index = new Int32Array(buckets * WAYS * PLACE_WORDS);
    this.#words = new Int32Array(Math.max(0, Math.floor((maxBytes - this.#index.byteLength) / WORD_BYTES)));
    this.#bytes = Buffer.from(this.#words.buffer);
  }

  /** A copy of the value kept under the key. */
  get(key: Uint8Array): Buffer | undefined {
    const hash = hashOf(key, this.#seed);
    const place = this.#find(hash, key);
    if (place === -1) {
      this.#misses++;
      return undefined;
    }
    this.#hits++;
    const start = this.#startOf(place);
    const value = this.#valueAt(start);
    // Frequently used entries are not overwritten, and move at most once in three quarters of a round.
    if (this.#wordsUntil(start) < this.#words.length / 4) this.#write(place, hash, key, value);
    return value;
  }

  /** Keeps the value under the key, if it fits at all. */
  set(key: Uint8Array, value: Uint8Array): void {
    const hash = hashOf(key, this.#seed);
    const known = this.#find(hash, key);
    this.#write(known === -1 ? this.#leastPlace(hash) : known, hash, key, value);
  }

  /** How often `get` has found a value. */
  get hits(): number {
    return this.#hits;
  }

  /** How often `get` has not found one. */
  get misses(): number {
    return this.#misses;
  }

  /** The entries that `get` can find. */
  get entries(): number {
    return this.#entries;
  }

  /** The bytes in use, including the index. */
  get bytes(): number {
    const filled = this.#round === FIRST_ROUND ? this.#head : this.#words.length;
    return this.#index.byteLength + filled * WORD_BYTES;
  }

  /** The place of this key's entry in the index, or -1. */
  #find(hash: number, key: Uint8Array): number {
    const first = this.#firstPlace(hash);
    for (let place = first; place < first + WAYS * PLACE_WORDS; place += PLACE_WORDS) {
      if (this.#index[place + HASH] === hash && this.#isKept(place) && this.#hasKey(place, key)) return place;
    }
    return -1;
  }

  #firstPlace(hash: number): number {
    return (hash & this.#bucketMask) * WAYS * PLACE_WORDS;
  }

  #startOf(place: number): number {
    return this.#index[place + START] ?? 0;
  }

  #roundOf(place: number): number {
    return this.#index[place + ROUND] ?? 0;
  }

  /** Whether the place's entry has not been overwritten. */
  #isKept(place: number): boolean {
    const age = this.#round - this.#roundOf(place);
    return age === 0 || (age === 1 && this.#startOf(place) >= this.#head);
  }

  #hasKey(place: number, key: Uint8Array): boolean {
    const start = this.#startOf(place);
    if (this.#words[start + KEY_BYTES] !== key.length) return false;
    const from = (start + HEAD_WORDS) * WORD_BYTES;
    for (let i = 0; i < key.length; i++) if (this.#bytes[from + i] !== key[i]) return false;
    return true;
  }

  #valueAt(start: number): Buffer {
    const from = (start + HEAD_WORDS) * WORD_BYTES + (this.#words[start + KEY_BYTES] ?? 0);
    const value = Buffer.allocUnsafe(this.#words[start + VALUE_BYTES] ?? 0);
    this.#bytes.copy(value, 0, from);
    return value;
  }

  /** How many words will be written before this one is overwritten. */
  #wordsUntil(start: number): number {
    return start >= this.#head ? start - this.#head : start - this.#head + this.#words.length;
  }

  /** The bucket's unused place, or else the place with the oldest entry. */
  #leastPlace(hash: number): number {
    const first = this.#firstPlace(hash);
    let least = first;
    for (let place = first; place < first + WAYS * PLACE_WORDS; place += PLACE_WORDS) {
      if (this.#isOlder(place, least)) least = place;
    }
    return least;
  }

  #isOlder(place: number, other: number): boolean {
    const rounds = this.#roundOf(place) - this.#roundOf(other);
    return rounds < 0 || (rounds === 0 && this.#startOf(place) < this.#startOf(other));
  }

  #write(place: number, hash: number, key: Uint8Array, value: Uint8Array): void {
    const size = sizeInWords(key.length, value.length);
    if (size > this.#words.length) return;
    // An entry is contiguous.
    if (this.#head + size > this.#words.length) this.#beginRound();
    const start = this.#head;
    this.#head += size;
    this.#discardUntil(this.#head);
    if (!this.#isKept(place)) this.#entries++;
    this.#words[start] = place;
    this.#words[start + KEY_BYTES] = key.length;
    this.#words[start + VALUE_BYTES] = value.length;
    const from = (start + HEAD_WORDS) * WORD_BYTES;
    this.#bytes.set(key, from);
    this.#bytes.set(value, from + key.length);
    this.#index[place + HASH] = hash;
    this.#index[place + START] = start;
    this.#index[place + ROUND] = this.#round;
  }

  #beginRound(): void {
    this.#discardUntil(this.#lastEnd);
    this.#lastEnd = this.#head;
    this.#oldest = 0;
    this.#head = 0;
    this.#round++;
  }

  /** Counts out the entries of the last round that begin before this word. */
  #discardUntil(word: number): void {
    const end = Math.min(word, this.#lastEnd);
    while (this.#oldest < end) {
      const start = this.#oldest;
      const place = this.#words[start] ?? 0;
      // The others were written again since.
      if (this.#startOf(place) === start && this.#roundOf(place) === this.#round - 1) this.#entries--;
      this.#oldest += sizeInWords(this.#words[start + KEY_BYTES] ?? 0, this.#words[start + VALUE_BYTES] ?? 0);
    }
  }
}

function sizeInWords(keyBytes: number, valueBytes: number): number {
  return HEAD_WORDS + Math.ceil((keyBytes + valueBytes) / WORD_BYTES);
}

/** FNV-1a over the bytes in reverse, from a secret seed, with a final mix so that the lowest bits depend on all. */
function hashOf(bytes: Uint8Array, seed: number): number {
  let hash = seed;
  for (let i = bytes.length - 1; i >= 0; i--) hash = Math.imul(hash ^ (bytes[i] ?? 0), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 15), 0x85ebca6b);
  return hash ^ (hash >>> 13);
}
