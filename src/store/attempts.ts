import { setTimeout as delay } from 'node:timers/promises';
import { isOutOfReach, isTransient } from './driver-errors.js';

/**
 * The most attempts of one statement. With their pauses they take 1.6 to 3.3 s: as long as load balancers take to
 * notice a failover, and less than the default deadline of a call.
 */
export const MAX_ATTEMPTS = 10;
/**
 * The longest pause after the first attempt, in milliseconds: a deadlock is over by then. Each further one is twice as
 * long.
 */
const FIRST_PAUSE_MS = 10;
/** The limit on a pause, in milliseconds, so that the last attempts are not too late for the waiting calls. */
const LONGEST_PAUSE_MS = 1_000;

/**
 * Sends a statement again while that may help. The statement must do no harm when it has already been executed.
 *
 * @param send gets the number of the attempt, from 1; throws to end the attempts when nobody waits any longer
 * @param pauseOf how long to pause after an attempt, in milliseconds
 */
export async function inAttempts<Answer>(
  send: (attempt: number) => Promise<Answer>,
  pauseOf: (attempt: number) => number = pauseAfter,
): Promise<Answer> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await send(attempt);
    } catch (error) {
      // A database that is unreachable at the first attempt is reported at once.
      const again = isTransient(error) || (attempt > 1 && isOutOfReach(error));
      if (!again || attempt === MAX_ATTEMPTS) throw error;
    }
    await delay(pauseOf(attempt));
  }
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
