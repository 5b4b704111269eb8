import { describe, expect, it } from 'vitest';
import { StreamShare } from '../../src/grpc/stream-share.js';

const MOST = 128;
const BUDGET = { busy: 1_024, open: 16_384 };

describe('the share of each busy connection', () => {
  it.each([
    [0, 128],
    [1, 128],
    [8, 128],
    [9, 64],
    [16, 64],
    [17, 32],
    [64, 16],
    [1_024, 2],
    [20_000, 2],
  ])('among %d is %d streams', (busy, share) => {
    expect(new StreamShare(MOST, BUDGET).forBusy(busy, 0)).toBe(share);
  });

  it('is never above the limit of a connection, even if that is not a power of two', () => {
    expect(new StreamShare(100, BUDGET).forBusy(2, 0)).toBe(100);
  });

  it('shrinks at once, and grows after ten checks in a row have allowed more', () => {
    const share = new StreamShare(MOST, BUDGET);
    const looks = (count: number, busy: number): number[] =>
      Array.from({ length: count }, () => share.forBusy(busy, 0));
    expect(looks(1, 64)).toEqual([16]);
    expect(looks(9, 8)).toEqual(Array(9).fill(16));
    expect(looks(1, 64)).toEqual([16]);
    expect(looks(10, 8)).toEqual([...Array<number>(9).fill(16), 128]);
  });
});

it.each([
  [0, 128],
  [512, 128],
  [513, 64],
  [960, 16],
  [1_024, 2],
  [20_000, 2],
])('while the quiet connections have %d streams at work, four busy ones have %d each', (atWork, share) => {
  expect(new StreamShare(MOST, BUDGET).forBusy(4, atWork)).toBe(share);
});

describe('the share of each idle connection', () => {
  it.each([
    [128, 128],
    [129, 64],
    [5_000, 2],
    [20_000, 2],
  ])('among %d is at most %d streams, since all may become busy at once', (open, share) => {
    const shares = new StreamShare(MOST, BUDGET);
    expect([shares.forNotBusy(open), shares.forNew(1, open)]).toEqual([share, share]);
  });

  it('is at most the limit of a connection', () => {
    expect(new StreamShare(1, BUDGET).forNotBusy(5_000)).toBe(1);
  });
});

it('a new connection has the share of the busy ones, if it and all that arrived with it were busy', () => {
  expect(new StreamShare(MOST, BUDGET).forNew(64, 64)).toBe(16);
});
