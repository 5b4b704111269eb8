import { performance } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import type { Knex } from 'knex';
import { engineOf } from './database.js';
import { classify, isOfDatabase } from './driver-errors.js';
import { countDuplicates } from './duplicates.js';
import { ENGINES } from './engines/engines.js';

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
 * Resolves when the database responds. Waits for a database that cannot be reached, but not for a database that
 * refuses the login.
 *
 * @throws Error with the setting, and in one line whether the database is away, refuses the login, or what else is
 *   wrong; `AbortError` when stopped
 */
export async function reachOrExplain(
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
      const remainingMs = giveUpAt - performance.now();
      if (remainingMs <= 0 || classify(error).retry === undefined) throw errorOfStart(error);
      if (attempt === 1) log(`waiting up to ${waitMs / 1_000} s for the database`);
      await pause(Math.min(pauseMs, remainingMs), stop);
      pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS);
    }
  }
}

function pauseFor(ms: number, stop: AbortSignal | undefined): Promise<void> {
  return delay(ms, undefined, { signal: stop });
}

/**
 * Does what a program does with the database before it serves or ends.
 *
 * @throws Error with the setting and the cause in one line, when the database fails; any other error as it is
 */
export async function useOrExplain<T>(use: () => Promise<T>): Promise<T> {
  try {
    return await use();
  } catch (error) {
    throw isOfDatabase(error) ? errorOfStart(error) : error;
  }
}

/** Says in a sentence without SQL why the database cannot be used at the start. */
function errorOfStart(error: unknown): Error {
  const { kind } = classify(error);
  const isAway = kind === 'lost' || kind === 'unreachable';
  const trouble =
    kind === 'login refused' ? 'refuses the login' : isAway ? 'cannot be reached' : 'cannot be used';
  const { message, sqlMessage } = error as { readonly message: string; readonly sqlMessage?: string };
  // Knex puts the statement before the database's own words.
  const cause = sqlMessage ?? message.replace(/^.* - /s, '');
  return new Error(`The database named by DATABASE_URL ${trouble}: ${cause}`, { cause: error });
}

/**
 * Where duplicates are refused: counts the duplicates in a database of this process alone, and warns of those in a
 * shared database.
 */
export async function countOrWarn(
  knex: Knex,
  log: { info(entry: object, message: string): void; warn(message: string): void },
): Promise<void> {
  if ((await knex('routes').whereNull('shape').first('id')) === undefined) return;
  if (ENGINES[engineOf(knex)].isShared) {
    log.warn(
      'some routes do not count as duplicates: once no instance with DUPLICATE_ROUTES=allow is left, run: node dist/migrate.js --count-duplicates',
    );
  } else {
    log.info({}, 'counting the routes that were stored while duplicates were allowed');
    log.info({ routes: await countDuplicates(knex) }, 'routes count as duplicates from now on');
  }
}
