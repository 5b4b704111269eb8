import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ImmediateBatch } from '../../src/calls/immediate-batch.js';

describe('items deferred to the end of a turn', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setImmediate'] });
  });

  afterEach(() => {
    vi.useRealTimers();
  });

  it('are processed in order, and items added meanwhile after all others', () => {
    const acted: string[] = [];
    const turn = new ImmediateBatch<string>((item) => {
      acted.push(item);
      for (const more of item.split('+').slice(1)) turn.add(more);
    });
    for (const item of ['a+b', 'c']) turn.add(item);
    expect(acted).toEqual([]);
    vi.advanceTimersToNextTimer();
    expect(acted).toEqual(['a+b', 'c', 'b']);
    turn.add('next');
    vi.advanceTimersToNextTimer();
    expect(acted).toEqual(['a+b', 'c', 'b', 'next']);
  });

  it('are all processed even if one throws, and its error is not swallowed', () => {
    const acted: string[] = [];
    const turn = new ImmediateBatch<string>((item) => {
      if (acted.push(item) === 2) throw new Error('bad');
    });
    for (const item of ['a', 'b', 'c']) turn.add(item);
    vi.advanceTimersToNextTimer();
    expect(acted).toEqual(['a', 'b', 'c']);
    expect(() => vi.advanceTimersToNextTimer()).toThrow('bad');
  });
});
