import { performance } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import type { Knex } from 'knex';
import { classify } from '../store/driver-errors.js';

/** The pauses between attempts, in milliseconds: each is twice the previous one, up to the longest. */
const FIRST_PAUSE_MS = 200;
const LONGEST_PAUSE_MS = 2_000;

interface DatabaseWait {
  /** How long to keep trying while it cannot be reached, in milliseconds; 0 tries once. */
  readonly waitMs: number;
  /** Aborts the wait. */
  readonly stop?: AbortSignal | undefined;
  /** Called when the wait begins and when the database responds. */
  readonly log: (line: string) => void;
  /** Pauses between attempts, in milliseconds; rejects when `stop` is aborted. Default: a timer. */
  readonly pause?: (ms: number, stop: AbortSignal | undefined) => Promise<unknown>;
}

/**
 * Resolves when the database responds. Waits for a database that cannot be reached, but not for one that refuses the
 * login.
 *
 * @throws Error of the driver when the database does not respond in time; `AbortError` when stopped
 */
export async function reachDatabase(
  knex: Knex,
  { waitMs, stop, log, pause = pauseFor }: DatabaseWait,
): Promise<void> {
  const giveUpAt = performance.now() + waitMs;
  let pauseMs = FIRST_PAUSE_MS;
  for (let attempt = 1; ; attempt++) {
    try {
      await knex.raw('SELECT 1');
      if (attempt > 1) log('the database answers');
      return;
    } catch (error) {
      const leftMs = giveUpAt - performance.now();
      if (leftMs <= 0 || classify(error).retry === undefined) throw error;
      if (attempt === 1) log(`waiting up to ${waitMs / 1_000} s for the database`);
      await pause(Math.min(pauseMs, leftMs), stop);
      pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS);
    }
  }
}

function pauseFor(ms: number, stop: AbortSignal | undefined): Promise<void> {
  return delay(ms, undefined, { signal: stop });
}
