import type { Knex } from 'knex';
import { endsConnection } from './mysql-errors.js';

/** The name of the lock, by database, since locks belong to the whole server. A name has at most 64 characters. */
const LOCK = "concat('route-registry ', left(sha2(database(), 256), 40))";

/**
 * As `Engine.underLock` has it. The lock ends with its connection. Uses a Knex transaction, since it keeps one connection
 * to the end, even if its statements commit.
 */
export async function underNamedLock<Result>(
  knex: Knex,
  work: (connection: Knex) => Promise<Result>,
  waitMs: number,
): Promise<Result> {
  let lost: unknown;
  const result = knex.transaction(async (connection) => {
    connection.on('query-error', (error: unknown) => {
      if (endsConnection(error)) lost ??= error;
    });
    const taken = connection.raw(`get_lock(${LOCK}, ?) as taken`, [waitMs / 1_000]);
    const answer = await connection.first<{ taken: number | null } | undefined>(taken);
    if (answer?.taken !== 1)
      throw new Error(
        `Another process has been migrating the database for ${waitMs / 1_000} s. Try again when it has ended.`,
      );
    // From here on, each statement commits by itself, as DDL does anyway, so nothing is uncommitted at the release.
    await connection.raw('commit');
    try {
      return await work(connection);
    } finally {
      // A lost connection has already released the lock.
      await connection.raw(`select release_lock(${LOCK})`).catch(() => undefined);
    }
  });
  try {
    return await result;
  } catch (error) {
    // Knex reports a rollback that failed on the lost connection.
    throw lost ?? error;
  }
}
