import { describe, expect, it } from 'vitest';
import { AnswerCache } from '../../src/calls/answer-cache.js';

/** What an entry with a key of one character and an answer of 699 bytes counts for. */
const ENTRY = 1_000;
const answer = Buffer.alloc(699, 7);

describe('a cache of answers', () => {
  it.each([
    ['empty', Buffer.alloc(0)],
    ['of every byte', Buffer.from(Array.from({ length: 256 }, (_, byte) => byte))],
    ['in a part of a larger buffer', Buffer.from('abcdef').subarray(2, 4)],
  ])('gives back what was set: %s', (_, value) => {
    const cache = new AnswerCache(ENTRY);
    cache.set('key', value);
    expect(cache.get('key')).toEqual(value);
  });

  it('keeps as many answers as its bytes allow, and forgets what was not asked for longest', () => {
    const cache = new AnswerCache(2 * ENTRY);
    cache.set('a', answer);
    cache.set('b', answer);
    cache.get('a');
    cache.set('c', answer);
    expect(['a', 'b', 'c'].map((key) => cache.get(key)?.length)).toEqual([699, undefined, 699]);
  });

  it('does not keep an answer larger than itself, and loses nothing by it', () => {
    const cache = new AnswerCache(ENTRY);
    cache.set('a', answer);
    cache.set('b', Buffer.alloc(700));
    expect(cache.get('a')).toEqual(answer);
    expect(cache.get('b')).toBeUndefined();
  });

  it('counts its look-ups, its entries and their bytes', () => {
    const cache = new AnswerCache(10 * ENTRY);
    cache.set('a', answer);
    cache.set('b', answer);
    cache.get('a');
    cache.get('a');
    cache.get('c');
    expect(cache.figures).toEqual({ hits: 2, misses: 1, entries: 2, bytes: 2 * ENTRY });
  });
});
