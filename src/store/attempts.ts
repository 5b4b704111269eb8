import { setTimeout as delay } from 'node:timers/promises';
import { isOutOfReach, isTransient } from './driver-errors.js';

/**
 * The most attempts of one statement. With their pauses they take 1.6 to 3.3 s: as long as balancers take to notice that
 * another server has taken over, and less than the default deadline of a call.
 */
export const MAX_ATTEMPTS = 10;
/** The longest pause after the first attempt, in milliseconds: a deadlock is over by then. Each is twice the one before. */
const FIRST_PAUSE_MS = 10;
/** No pause is longer, in milliseconds, so that the last attempts are not too late for those who wait. */
const LONGEST_PAUSE_MS = 1_000;

/**
 * Sends a statement again while that may help. It is one that does no harm when it has been done already.
 *
 * @param send gets the number of the attempt, from 1; throws to end the attempts when nobody waits any more
 */
export async function inAttempts<Answer>(send: (attempt: number) => Promise<Answer>): Promise<Answer> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await send(attempt);
    } catch (error) {
      // A database that cannot be reached from the beginning is reported at once.
      const again = isTransient(error) || (attempt > 1 && isOutOfReach(error));
      if (!again || attempt === MAX_ATTEMPTS) throw error;
    }
    await delay(pauseAfter(attempt));
  }
}

/**
 * The pause after an attempt, in milliseconds. Its second half is random, so that those who failed together do not try
 * again together.
 *
 * @param random from 0 to 1
 */
export function pauseAfter(attempt: number, random = Math.random()): number {
  const longest = Math.min(FIRST_PAUSE_MS * 2 ** (attempt - 1), LONGEST_PAUSE_MS);
  return (longest * (1 + random)) / 2;
}
