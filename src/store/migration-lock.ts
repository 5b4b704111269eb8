import { performance } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import type { Knex } from 'knex';
import { isBusy } from './driver-errors.js';
import { isMysql } from './migrations/is-mysql.js';

/** How long a migration waits for another process's migration, in milliseconds. */
const WAIT_MS = 60_000;
/** The pause between attempts to lock the embedded database, in milliseconds. */
const PAUSE_MS = 50;
/** The name of the lock, by database, since locks belong to the whole server. A name has at most 64 characters. */
const LOCK = "concat('route-registry ', left(sha2(database(), 256), 40))";

/**
 * Runs `work` on one connection, under a lock that only one process holds per database. The lock ends with the
 * connection, so it never outlives the process. In the embedded database, `work` runs in one transaction.
 *
 * @param work uses only the connection that it receives
 * @param waitMs how long to wait for another process, in milliseconds, a multiple of 1,000
 * @throws Error when another process holds the lock for longer
 */
export function locked<T>(knex: Knex, work: (connection: Knex) => Promise<T>, waitMs = WAIT_MS): Promise<T> {
  return isMysql(knex) ? lockedByName(knex, work, waitMs) : lockedByWriting(knex, work, waitMs);
}

/** Uses a Knex transaction, since it keeps one connection to the end, even if its statements commit. */
function lockedByName<T>(knex: Knex, work: (connection: Knex) => Promise<T>, waitMs: number): Promise<T> {
  return knex.transaction(async (connection) => {
    const taken = connection.raw(`get_lock(${LOCK}, ?) as taken`, [waitMs / 1_000]);
    const answer = await connection.first<{ taken: number | null } | undefined>(taken);
    if (answer?.taken !== 1) throw tooLong(waitMs);
    // From here on, each statement commits by itself, as DDL does anyway, so nothing is uncommitted at the release.
    await connection.raw('commit');
    try {
      return await work(connection);
    } finally {
      // A lost connection has already released the lock.
      await connection.raw(`select release_lock(${LOCK})`).catch(() => undefined);
    }
  });
}

/** Writes in the first statement, which makes SQLite wait for the write lock as it does at `BEGIN IMMEDIATE`. */
async function lockedByWriting<T>(
  knex: Knex,
  work: (connection: Knex) => Promise<T>,
  waitMs: number,
): Promise<T> {
  const giveUpAt = performance.now() + waitMs;
  for (;;) {
    try {
      return await knex.transaction(async (connection) => {
        await connection.raw('PRAGMA user_version = 0');
        return work(connection);
      });
    } catch (error) {
      if (!isBusy(error)) throw error;
      if (performance.now() >= giveUpAt) throw tooLong(waitMs);
    }
    await delay(PAUSE_MS);
  }
}

function tooLong(waitMs: number): Error {
  return new Error(
    `Another process has been migrating the database for ${waitMs / 1_000} s. Try again when it has ended.`,
  );
}
