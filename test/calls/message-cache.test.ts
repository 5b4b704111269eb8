import { describe, expect, it } from 'vitest';
import { MessageCache } from '../../src/calls/message-cache.js';

/** The bytes that the cache counts for a key of one character and an answer of 699 bytes. */
const ENTRY = 1_000;
const answer = Buffer.alloc(699, 7);

describe('a message cache', () => {
  it.each([
    ['empty', Buffer.alloc(0)],
    ['every byte', Buffer.from(Array.from({ length: 256 }, (_, byte) => byte))],
    ['part of a larger buffer', Buffer.from('abcdef').subarray(2, 4)],
  ])('returns what was set: %s', (_, value) => {
    const cache = new MessageCache(ENTRY);
    cache.set('key', value);
    expect(cache.get('key')).toEqual(value);
  });

  it('keeps as many answers as fit, and evicts the least recently used', () => {
    const cache = new MessageCache(2 * ENTRY);
    cache.set('a', answer);
    cache.set('b', answer);
    cache.get('a');
    cache.set('c', answer);
    expect(['a', 'b', 'c'].map((key) => cache.get(key)?.length)).toEqual([699, undefined, 699]);
  });

  it('rejects an answer larger than its capacity, and evicts nothing for it', () => {
    const cache = new MessageCache(ENTRY);
    cache.set('a', answer);
    cache.set('b', Buffer.alloc(700));
    expect(cache.get('a')).toEqual(answer);
    expect(cache.get('b')).toBeUndefined();
  });

  it('counts lookups, entries and bytes', () => {
    const cache = new MessageCache(10 * ENTRY);
    cache.set('a', answer);
    cache.set('b', answer);
    cache.get('a');
    cache.get('a');
    cache.get('c');
    expect(cache.figures).toEqual({ hits: 2, misses: 1, entries: 2, bytes: 2 * ENTRY });
  });
});
