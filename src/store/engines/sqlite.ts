import createKnex, { type Knex } from 'knex';
import type { Database } from '../../settings/database-url.js';
import { classify } from '../driver-errors.js';
import { ACQUIRE_TIMEOUT_MS, isDiscarded, SILENT_LOGGER } from '../pool.js';
import type { Row } from '../route-columns.js';
import type { Engine } from './engine.js';
import { requireWritable } from './sqlite-file.js';

/** How long a migration, or what opens or closes the database, waits for another process, in milliseconds. */
const BUSY_TIMEOUT_MS = 2_000;
/**
 * How long the statement of a call does, in milliseconds. Its driver blocks the whole process meanwhile, so the statement
 * is sent again instead.
 */
const BUSY_TIMEOUT_OF_CALLS_MS = 10;

/** The embedded SQLite. */
export const sqliteEngine: Engine<Extract<Database, { engine: 'sqlite' }>> = {
  // Knex knows no libsql, which is installed under this name.
  client: 'better-sqlite3',
  isShared: false,

  openForCalls: ({ file }) => openEmbedded(file, BUSY_TIMEOUT_OF_CALLS_MS),
  openForMigrations: ({ file }) => openEmbedded(file, BUSY_TIMEOUT_MS),
  async prepareClose(knex) {
    // If the checkpoint fails, for example on a full disk, nothing is lost: the log stays next to the file.
    await knex.raw(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`).catch(() => undefined);
    await knex.raw('PRAGMA wal_checkpoint(TRUNCATE)').catch(() => undefined);
  },

  textLiteral: (hex) => `cast(x'${hex}' as text)`,
  onConflict: 'on conflict do nothing',
  updateWherePossible: 'update or ignore',
  commit: 'commit',
  requireCommitted: () => undefined,
  hasStoredAll: (answer, rows) => (answer as { readonly changes: number }).changes === rows,
  rowsIn: (answer) => answer as Row[],

  requireGrants: () => Promise.resolve(),
  underLock: underWriteLock,
};

interface SqliteConnection {
  pragma(text: string): unknown;
  close(): void;
}

/** @param busyMs how long a statement waits for a lock of another process, in milliseconds */
function openEmbedded(filename: string, busyMs: number): Knex {
  if (filename !== ':memory:') requireWritable(filename);
  let usable = true;
  // Calls wait only once the database is open.
  let openingMs = BUSY_TIMEOUT_MS;
  const knex = createKnex({
    client: 'better-sqlite3',
    log: SILENT_LOGGER,
    compileSqlOnError: false,
    connection: { filename },
    useNullAsDefault: true,
    acquireConnectionTimeout: ACQUIRE_TIMEOUT_MS,
    pool: {
      min: 1,
      max: 1,
      validate: (connection: SqliteConnection) => usable && !isDiscarded(connection),
      afterCreate: (connection: SqliteConnection, done: (error: Error | null) => void) => {
        try {
          connection.pragma(`busy_timeout = ${openingMs}`);
          connection.pragma('journal_mode = WAL');
          // Every commit reaches the disk, as with InnoDB's default.
          connection.pragma('synchronous = FULL');
          connection.pragma(`busy_timeout = ${busyMs}`);
        } catch (error) {
          // Knex forgets a connection that fails here, but leaves it open.
          connection.close();
          done(error as Error);
          return;
        }
        usable = true;
        openingMs = busyMs;
        done(null);
      },
    },
  });
  // After a statement that did not get the lock, libsql reports further writes as successful without committing them.
  knex.on('query-error', (error: unknown) => {
    if (classify(error).kind === 'busy') usable = false;
  });
  return knex;
}

/** Writes in the first statement, which makes SQLite wait for the write lock as it does at `BEGIN IMMEDIATE`. */
async function underWriteLock<Result>(
  knex: Knex,
  work: (connection: Knex) => Promise<Result>,
): Promise<Result> {
  let failure: unknown;
  const result = knex.transaction(async (connection) => {
    connection.on('query-error', (error: unknown) => {
      failure ??= error;
    });
    await connection.raw('PRAGMA user_version = 0');
    return work(connection);
  });
  try {
    return await result;
  } catch (error) {
    // A full disk has ended the transaction already, and Knex reports a rollback that failed.
    throw failure ?? error;
  }
}
