import { describe, expect, it } from 'vitest';
import { StreamShare } from '../../src/edge/stream-share.js';

const MOST = 128;
const BUDGET = { busy: 1_024, open: 16_384 };
/** Few enough open connections that only the busy ones determine the share. */
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
  ])('among %d is %d streams', (busy, share) => {
    expect(new StreamShare(MOST, BUDGET).among(busy, OPEN)).toBe(share);
  });

  it('is never above the limit of a connection, even if that is not a power of two', () => {
    expect(new StreamShare(100, BUDGET).among(2, OPEN)).toBe(100);
  });

  it('shrinks at once, and grows after ten checks in a row have allowed more', () => {
    const share = new StreamShare(MOST, BUDGET);
    const looks = (count: number, busy: number): number[] =>
      Array.from({ length: count }, () => share.among(busy, OPEN));
    expect(looks(1, 64)).toEqual([16]);
    expect(looks(9, 8)).toEqual(Array(9).fill(16));
    expect(looks(1, 64)).toEqual([16]);
    expect(looks(10, 8)).toEqual([...Array<number>(9).fill(16), 128]);
  });
});

describe('the share of each open connection', () => {
  it.each([
    [128, 128],
    [129, 64],
    [5_000, 2],
    [20_000, 1],
  ])('among %d is %d streams, since all may become busy at once', (open, share) => {
    const shares = new StreamShare(MOST, BUDGET);
    expect([shares.ofIdle(open), shares.ofNew(1, open), shares.among(1, open)]).toEqual(Array(3).fill(share));
  });
});
