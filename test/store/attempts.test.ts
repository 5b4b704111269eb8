import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { inAttempts, MAX_ATTEMPTS, pauseAfter } from '../../src/store/attempts.js';

const LOST = { code: 'PROTOCOL_CONNECTION_LOST' };
const REFUSED = { code: 'ECONNREFUSED', errno: -111, syscall: 'connect' };
const CROWDED = { code: 'ER_CON_COUNT_ERROR', errno: 1040, sqlState: '08004' };
const LATE = { name: 'KnexTimeoutError' };
const DUPLICATE = { code: 'ER_DUP_ENTRY', errno: 1062, sqlState: '23000' };

/** Sends a statement that fails with each error in turn and then succeeds; resolves with the number of attempts. */
async function attemptsFor(...failures: readonly object[]): Promise<number> {
  let sent = 0;
  await inAttempts(
    (attempt) => {
      expect(attempt).toBe(++sent);
      const failure = failures[sent - 1];
      return failure === undefined
        ? Promise.resolve()
        : Promise.reject(Object.assign(new Error(`failure ${sent}`), failure));
    },
    () => false,
    () => 0,
  );
  return sent;
}

describe('a statement', () => {
  it('is sent once if it succeeds', async () => {
    await expect(attemptsFor()).resolves.toBe(1);
  });

  it('is retried through an outage of the database', async () => {
    await expect(attemptsFor(LOST, REFUSED, CROWDED, LATE)).resolves.toBe(5);
  });

  it.each([
    ['a deadlock', { errno: 1213, sqlState: '40001' }],
    ['a server that is read-only', { errno: 1290, sqlState: 'HY000' }],
    ['an unknown error', { errno: 1105, sqlState: 'HY000' }],
    ['a lost connection', LOST],
    ['a busy embedded database', { code: 'SQLITE_BUSY' }],
  ])('is retried if its first attempt fails because of %s', async (_, failure) => {
    await expect(attemptsFor(failure)).resolves.toBe(2);
  });

  it('is retried after a pause that depends on the attempt', async () => {
    const events: unknown[] = [];
    let shorter = Promise.resolve();
    await inAttempts(
      async (attempt) => {
        events.push(attempt);
        await shorter;
        if (attempt < 3) throw Object.assign(new Error('lost'), LOST);
      },
      () => false,
      (attempt) => {
        shorter = delay(20 * attempt).then(() => void events.push('waited'));
        return 40 * attempt;
      },
    );
    expect(events).toEqual([1, 'waited', 2, 'waited', 3]);
  });

  it.each([
    ['an unreachable database', REFUSED],
    ['a database with too many connections', CROWDED],
    ['an exhausted connection pool', LATE],
    ['a refused login', { errno: 1045, sqlState: '28000' }],
    ['a refused row', DUPLICATE],
    ['a lock wait timeout', { errno: 1205, sqlState: 'HY000' }],
    ['a missing table', { errno: 1146, sqlState: '42S02' }],
    ['a read that exceeds its time limit', { errno: 3024, sqlState: 'HY000' }],
    ['a programming error', {}],
  ])('is not retried if its first attempt fails because of %s', async (_, failure) => {
    await expect(attemptsFor(failure)).rejects.toThrow('failure 1');
  });

  it('is not retried any more once an attempt is refused', async () => {
    await expect(attemptsFor(LOST, DUPLICATE)).rejects.toThrow('failure 2');
  });

  it('is sent at most ten times', async () => {
    await expect(attemptsFor(...Array<object>(MAX_ATTEMPTS).fill(LOST))).rejects.toThrow('failure 10');
  });
});

describe('the pause after attempt', () => {
  it.each([
    [1, 5, 10],
    [2, 10, 20],
    [5, 80, 160],
    [7, 320, 640],
    [8, 500, 1_000],
    [9, 500, 1_000],
  ])('%i is random between %i and %i ms', (attempt, shortest, longest) => {
    expect([pauseAfter(attempt, 0), pauseAfter(attempt, 1)]).toEqual([shortest, longest]);
    const pauses = new Set(Array.from({ length: 20 }, () => pauseAfter(attempt)));
    expect(pauses.size).toBeGreaterThan(1);
  });
});
