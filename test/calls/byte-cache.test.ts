import { describe, expect, it } from 'vitest';
import { ByteCache } from '../../src/calls/byte-cache.js';

const KIB = 1_024;

/** A value that identifies its key and has a length of its own. */
function valueOf(key: number): Buffer {
  return Buffer.from(`${key}:${'x'.repeat(120 + (key % 97))}`);
}

function keyOf(key: number): Buffer {
  return Buffer.from(`key ${key}`);
}

function keptOf(cache: ByteCache, keys: readonly number[]): number[] {
  return keys.filter((key) => cache.get(keyOf(key)) !== undefined);
}

/** Whether the key was kept; it is from now on. */
function askFor(cache: ByteCache, key: number): boolean {
  const kept = cache.get(keyOf(key)) !== undefined;
  if (!kept) cache.set(keyOf(key), valueOf(key));
  return kept;
}

function numbers(from: number, to: number): number[] {
  return Array.from({ length: to - from }, (_, i) => from + i);
}

describe('a cache of bytes', () => {
  it('is empty at first, even under the empty key', () => {
    const cache = new ByteCache(2 * KIB);
    expect(cache.get(Buffer.alloc(0))).toBeUndefined();
    expect(cache.get(Buffer.from('key'))).toBeUndefined();
  });

  it.each([
    ['empty', Buffer.alloc(0), Buffer.alloc(0)],
    ['of every byte', Buffer.from(numbers(0, 256)), Buffer.from(numbers(0, 256).reverse())],
    ['of a length that is no multiple of a word', Buffer.from('abc'), Buffer.from('defgh')],
    ['as large as there is room', Buffer.from('k'), Buffer.alloc(1_840, 7)],
  ])('gives back what was set: %s', (_, key, value) => {
    const cache = new ByteCache(2 * KIB);
    cache.set(key, value);
    expect(cache.get(key)).toEqual(value);
  });

  it('distinguishes keys that differ in one bit, or in length', () => {
    const cache = new ByteCache(64 * KIB);
    const keys = [[], [0], [0, 0], [1], [128], [1, 0], [0, 1]].map((bytes) => Buffer.from(bytes));
    for (const [i, key] of keys.entries()) cache.set(key, Buffer.from([i]));
    expect(keys.map((key) => cache.get(key)?.[0])).toEqual([0, 1, 2, 3, 4, 5, 6]);
  });

  it('gives the value that was set last', () => {
    const cache = new ByteCache(2 * KIB);
    for (const value of ['first', 'second']) cache.set(Buffer.from('key'), Buffer.from(value));
    expect(cache.get(Buffer.from('key'))?.toString()).toBe('second');
  });

  it('gives a copy, which stays as it is when the entry is written over', () => {
    const cache = new ByteCache(2 * KIB);
    cache.set(keyOf(1), valueOf(1));
    const value = cache.get(keyOf(1));
    for (const key of numbers(2, 500)) cache.set(keyOf(key), valueOf(key));
    expect(cache.get(keyOf(1))).toBeUndefined();
    expect(value).toEqual(valueOf(1));
  });

  it('does not keep values larger than itself, and loses nothing by them', () => {
    const cache = new ByteCache(2 * KIB);
    cache.set(keyOf(1), valueOf(1));
    cache.set(keyOf(2), Buffer.alloc(2 * KIB));
    expect(cache.get(keyOf(2))).toBeUndefined();
    expect(cache.get(keyOf(1))).toEqual(valueOf(1));
  });

  it('keeps the latest and forgets the oldest when it is full', () => {
    const cache = new ByteCache(64 * KIB);
    for (const key of numbers(0, 5_000)) cache.set(keyOf(key), valueOf(key));
    expect(keptOf(cache, numbers(0, 4_000))).toEqual([]);
    // All but those whose bucket of the index is full of later ones, now and then.
    expect(keptOf(cache, numbers(4_900, 5_000)).length).toBeGreaterThan(95);
  });

  it('keeps entries in frequent use, however many others come', () => {
    const cache = new ByteCache(64 * KIB);
    const missed = numbers(0, 50_000).filter((i) => {
      cache.set(keyOf(10 + i), valueOf(10 + i));
      return !askFor(cache, i % 10);
    });
    // Misses: each key once, and now and then one whose bucket of the index had no free place.
    expect(missed.length).toBeLessThan(500);
  });

  it('gives the value of the right key or none, whatever was overwritten', () => {
    const cache = new ByteCache(8 * KIB);
    const asked = numbers(1, 20_000).map((key) => {
      cache.set(keyOf(key), valueOf(key));
      const earlier = Math.max(1, key - ((key * 7_919) % 61));
      return { earlier, value: cache.get(keyOf(earlier)) };
    });
    const given = asked.filter(({ value }) => value !== undefined);
    expect(given.filter(({ earlier, value }) => value?.equals(valueOf(earlier)) !== true)).toEqual([]);
    expect(given.length).toBeGreaterThan(5_000);
    expect(asked.length - given.length).toBeGreaterThan(5_000);
  });

  it('holds nearly as many bytes as it was given', () => {
    const cache = new ByteCache(1_024 * KIB);
    const keys = numbers(0, 900);
    for (const key of keys) cache.set(keyOf(key), Buffer.alloc(1_000));
    expect(keptOf(cache, keys)).toEqual(keys);
  });
});

describe('the figures of a cache', () => {
  it('count what it has found and has not', () => {
    const cache = new ByteCache(64 * KIB);
    cache.set(keyOf(1), valueOf(1));
    for (const key of [1, 2, 1]) cache.get(keyOf(key));
    expect({ hits: cache.hits, misses: cache.misses }).toEqual({ hits: 2, misses: 1 });
  });

  it('are the entries that it can find, also when others were overwritten', () => {
    const cache = new ByteCache(64 * KIB);
    expect(cache.entries).toBe(0);
    const keys = numbers(0, 2_000);
    for (const key of keys) cache.set(keyOf(key), valueOf(key));
    const { entries } = cache;
    expect(entries).toBeGreaterThan(100);
    expect(entries).toBe(keptOf(cache, keys).length);
  });

  it('are its entries whatever is asked for, kept again and forgotten meanwhile', () => {
    const cache = new ByteCache(64 * KIB);
    const keys = numbers(0, 400);
    for (const i of numbers(0, 20_000)) askFor(cache, (i * i + 7 * i) % 400);
    expect(cache.entries).toBe(keptOf(cache, keys).length);
  });

  it('are the bytes that it has filled, up to its limit', () => {
    const cache = new ByteCache(64 * KIB);
    const empty = cache.bytes;
    cache.set(keyOf(1), valueOf(1));
    expect(cache.bytes - empty).toBeGreaterThan(120);
    expect(cache.bytes - empty).toBeLessThan(160);
    for (const key of numbers(0, 2_000)) cache.set(keyOf(key), valueOf(key));
    expect(cache.bytes).toBeGreaterThan(63 * KIB);
    expect(cache.bytes).toBeLessThanOrEqual(64 * KIB);
  });
});
