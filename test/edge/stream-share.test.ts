import { describe, expect, it } from 'vitest';
import { StreamShare } from '../../src/edge/stream-share.js';

const MOST = 128;
const SERVED = 512;

function connections(count: number, streams: number): number[] {
  return Array<number>(count).fill(streams);
}

/** The share at each check, starting from the largest one. */
function sharesOf(checks: readonly (readonly number[])[]): number[] {
  const share = new StreamShare(MOST, SERVED);
  return checks.map((work) => share.among(work));
}

/** One check repeated. */
function repeated(times: number, work: readonly number[]): (readonly number[])[] {
  return Array<readonly number[]>(times).fill(work);
}

describe('the share of each connection', () => {
  it.each([
    ['no connection works', [], 128],
    ['few work, however many streams each has', connections(4, 128), 128],
    ['many work, but together on few streams', connections(512, 1), 128],
    ['a thousand quiet ones stand beside a busy one', [...connections(40, 1), 128], 128],
    ['eight have as many as they may', connections(8, 128), 64],
    ['64 have as many as they may', connections(64, 128), 8],
    ['only as many got their streams as are allowed in all', connections(18, 128), 16],
    ['more connections work than can be served', connections(1_024, 2), 1],
    ['few have many streams, and many have few', [...connections(4, 128), ...connections(256, 1)], 64],
  ])('when %s', (_, work, share) => {
    expect(sharesOf([work])).toEqual([share]);
  });

  it('is never above the limit of a connection, even if that is not a power of two', () => {
    const share = new StreamShare(100, SERVED);
    expect([share.among(connections(2, 100)), share.among(connections(8, 100))]).toEqual([100, 64]);
  });

  it('settles while the connections have as many streams as they may', () => {
    expect(sharesOf([connections(64, 128), ...repeated(20, connections(64, 8))])).toEqual(
      Array<number>(21).fill(8),
    );
  });

  it('does not shrink again for streams from before it shrank', () => {
    expect(sharesOf(repeated(20, connections(64, 128)))).toEqual(Array<number>(20).fill(8));
  });

  it('grows after ten checks in a row have found at most half of the streams, as far as all would fit', () => {
    const [half, few] = [connections(64, 4), connections(64, 1)];
    const shares = sharesOf([connections(64, 128), ...repeated(9, few), half, connections(64, 8)]);
    expect(shares).toEqual([...Array<number>(10).fill(8), 16, 16]);
    expect(sharesOf([connections(64, 128), ...repeated(10, few)]).at(-1)).toBe(64);
    expect(sharesOf([connections(64, 128), ...repeated(9, few), connections(64, 8), few]).at(-1)).toBe(8);
  });

  it('is the largest again a second after an overload', () => {
    expect(sharesOf([connections(1_024, 2), ...repeated(10, [1])]).at(-1)).toBe(MOST);
  });
});

describe('the share of new connections', () => {
  it.each([
    [1, 128],
    [5, 64],
    [64, 8],
    [5_000, 1],
  ])('among %d that come at once is %d streams', (arrived, expected) => {
    expect(new StreamShare(MOST, SERVED).ofNew(arrived)).toBe(expected);
  });

  it('is at most that of the others', () => {
    const share = new StreamShare(MOST, SERVED);
    share.among(connections(64, 128));
    expect(share.ofNew(1)).toBe(8);
  });
});
