import { describe, expect, it } from 'vitest';
import { inAttempts, MAX_ATTEMPTS, pauseAfter } from '../../src/store/attempts.js';

const LOST = { code: 'PROTOCOL_CONNECTION_LOST' };
const REFUSED = { code: 'ECONNREFUSED', errno: -111 };
const CROWDED = { code: 'ER_CON_COUNT_ERROR', errno: 1040 };
const LATE = { name: 'KnexTimeoutError' };
const DUPLICATE = { code: 'ER_DUP_ENTRY', errno: 1062 };

/** Sends a statement that fails with each of these errors in turn, and then succeeds; resolves with how often it was sent. */
async function attempted(...failures: readonly object[]): Promise<number> {
  let sent = 0;
  await inAttempts((attempt) => {
    expect(attempt).toBe(++sent);
    const failure = failures[sent - 1];
    return failure === undefined
      ? Promise.resolve()
      : Promise.reject(Object.assign(new Error(`failure ${sent}`), failure));
  });
  return sent;
}

describe('a statement', () => {
  it('that succeeds is sent once', async () => {
    await expect(attempted()).resolves.toBe(1);
  });

  it('is sent again over a database that is out of reach meanwhile', async () => {
    await expect(attempted(LOST, REFUSED, CROWDED, LATE)).resolves.toBe(5);
  });

  it('is sent again after a pause', async () => {
    const begun = performance.now();
    await attempted(LOST, LOST, LOST, LOST);
    // The shortest pauses are 5, 10, 20 and 40 ms; a timer may be a millisecond early.
    expect(performance.now() - begun).toBeGreaterThanOrEqual(71);
  });

  it.each([
    ['a database that cannot be reached', REFUSED],
    ['a database that is full of connections', CROWDED],
    ['a pool that is', LATE],
    ['a row that is refused', DUPLICATE],
    ['a mistake of ours', {}],
  ])('is not sent again over %s from the beginning', async (_, failure) => {
    await expect(attempted(failure)).rejects.toThrow('failure 1');
  });

  it('is not sent again when it was refused in the end', async () => {
    await expect(attempted(LOST, DUPLICATE)).rejects.toThrow('failure 2');
  });

  it('is sent ten times at most', async () => {
    await expect(attempted(...Array<object>(MAX_ATTEMPTS).fill(LOST))).rejects.toThrow('failure 10');
  });
});

describe('the pause after an attempt', () => {
  it.each([
    [1, 5, 10],
    [2, 10, 20],
    [5, 80, 160],
    [7, 320, 640],
    [8, 500, 1_000],
    [9, 500, 1_000],
  ])('%i is between %i and %i ms, at random', (attempt, shortest, longest) => {
    expect([pauseAfter(attempt, 0), pauseAfter(attempt, 1)]).toEqual([shortest, longest]);
    const pauses = new Set(Array.from({ length: 20 }, () => pauseAfter(attempt)));
    expect(pauses.size).toBeGreaterThan(1);
  });
});
