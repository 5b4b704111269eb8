import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ImmediateBatch } from '../../src/calls/call.js';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setImmediate'] });
});

afterEach(() => {
  vi.useRealTimers();
});

describe('items deferred to the end of a turn', () => {
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
    const turn = new ImmediateBatch<() => void>((act) => {
      act();
    });
    turn.add(() => acted.push('good'));
    turn.add(() => {
      throw new Error('bad');
    });
    turn.add(() => acted.push('better'));
    vi.advanceTimersToNextTimer();
    expect(acted).toEqual(['good', 'better']);
    expect(() => vi.advanceTimersToNextTimer()).toThrow('bad');
  });
});
