import { describe, expect, it } from 'vitest';
import { StreamShare } from '../../src/edge/stream-share.js';

const MOST = 128;
const BUDGET = { busy: 1_024, open: 16_384 };
/** So many idle connections leave the busy ones their share. */
const OPEN = 16;

describe('the share of each busy connection', () => {
  it.each([
    [0, 128],
    [1, 128],
    [8, 128],
    [9, 64],
    [16, 64],
    [17, 32],
    [64, 16],
    [1_024, 1],
    [20_000, 1],
  ])('of %d is %d streams', (busy, share) => {
    expect(new StreamShare(MOST, BUDGET).among(busy, OPEN)).toBe(share);
  });

  it('is never more than a connection may have, even if that is no power of two', () => {
    expect(new StreamShare(100, BUDGET).among(2, OPEN)).toBe(100);
  });

  it('shrinks at once, and grows when there was more to give for ten checks in a row', () => {
    const share = new StreamShare(MOST, BUDGET);
    const looks = (count: number, busy: number): number[] =>
      Array.from({ length: count }, () => share.among(busy, OPEN));
    expect(looks(1, 64)).toEqual([16]);
    expect(looks(9, 8)).toEqual(Array(9).fill(16));
    expect(looks(1, 64)).toEqual([16]);
    expect(looks(10, 8)).toEqual([...Array<number>(9).fill(16), 128]);
  });
});

describe('the share of each open connection, since all may become busy at once,', () => {
  it.each([
    [128, 128],
    [129, 64],
    [5_000, 2],
    [20_000, 1],
  ])('of %d is %d streams', (open, share) => {
    const shares = new StreamShare(MOST, BUDGET);
    expect([shares.ofIdle(open), shares.ofNew(1, open), shares.among(1, open)]).toEqual(Array(3).fill(share));
  });
});
