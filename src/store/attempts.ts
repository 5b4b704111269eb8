import { setTimeout as delay } from 'node:timers/promises';
import { classify } from './driver-errors.js';

/**
 * The most attempts of one statement. Their pauses add up to 1.6 to 3.3 s: as long as load balancers take to notice a
 * failover, and less than the default deadline of a call.
 */
export const MAX_ATTEMPTS = 10;
/**
 * The longest pause after the first attempt, in milliseconds: a deadlock is over by then. It doubles with each further
 * attempt.
 */
const FIRST_PAUSE_MS = 10;
/** The upper limit of a pause, in milliseconds, so that the last attempts come in time for the waiting calls. */
const LONGEST_PAUSE_MS = 1_000;

/**
 * Retries a statement while a retry may succeed. Sending a statement that was already executed must do no harm.
 *
 * @param send receives the number of the attempt, from 1. When no caller waits any longer, it throws
 *   `CancelledBeforeSend`, which is never retried.
 * @param isAway whether the database is known to be away, so that a retry would only keep the callers waiting
 * @param pauseOf how long to pause after an attempt, in milliseconds
 */
export async function inAttempts<Answer>(
  send: (attempt: number) => Promise<Answer>,
  isAway: () => boolean,
  pauseOf: (attempt: number) => number = pauseAfter,
): Promise<Answer> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await send(attempt);
    } catch (error) {
      if (attempt === MAX_ATTEMPTS || isAway() || !isWorthRetrying(error, attempt)) throw error;
    }
    await delay(pauseOf(attempt));
  }
}

function isWorthRetrying(error: unknown, attempt: number): boolean {
  const { retry } = classify(error);
  // At the first attempt, an unreachable database is reported immediately; after a lost connection, it may be failing
  // over.
  return retry === 'at once' || (retry === 'when reached' && attempt > 1);
}

/**
 * The pause after an attempt, in milliseconds. Its second half is random, so that statements that failed together are
 * not retried together.
 *
 * @param random from 0 to 1
 */
export function pauseAfter(attempt: number, random = Math.random()): number {
  const longest = Math.min(FIRST_PAUSE_MS * 2 ** (attempt - 1), LONGEST_PAUSE_MS);
  return (longest * (1 + random)) / 2;
}
