import type { Knex } from 'knex';
import type { Database } from '../settings/database-url.js';
import { createRoutes, isMysql } from './migrations/0001-routes.js';
import { shapesAsText } from './migrations/0002-shapes-as-text.js';
import { patternShapes } from './migrations/0003-pattern-shapes.js';

/**
 * A step of the schema. MySQL commits every statement, so an interrupted run leaves some of its changes: each direction
 * must also complete an interrupted run of itself.
 */
export interface Migration {
  /** Four digits for its order, then its purpose: `0004-owner`. */
  readonly name: string;
  up(knex: Knex): Promise<void>;
  down(knex: Knex): Promise<void>;
}

/** The migrations of this version, in the order in which they run. */
export const MIGRATIONS: readonly Migration[] = [createRoutes, shapesAsText, patternShapes];

const HISTORY = 'knex_migrations';
/** Version 0.1.0 recorded a migration with this batch number until it was complete. Knex counts from 1. */
const INCOMPLETE = 0;

/**
 * Brings the schema up to date and returns the names of the migrations that ran. Waits for a migration in another
 * process. If a run is interrupted, the next one completes it.
 *
 * @throws Error when another process migrates for longer than a minute
 */
export function migrateUp(knex: Knex, migrations = MIGRATIONS): Promise<string[]> {
  return locked(knex, async (connection) => {
    if (await connection.schema.hasTable(HISTORY)) {
      await connection(HISTORY).where({ batch: INCOMPLETE }).del();
    }
    await connection.migrate.forceFreeMigrationsLock();
    // A later version may have migrated already.
    const config = { migrationSource: sourceOf(migrations), disableMigrationsListValidation: true };
    const [, names] = (await connection.migrate.latest(config)) as [number, string[]];
    return names;
  });
}

/**
 * Rolls back the newest migration, with its data, and returns its name; empty if there is none. Waits for other
 * processes and completes an interrupted run, as `migrateUp` does.
 *
 * @throws Error when another process migrates for longer than a minute, or a later version has migrated the database
 */
export function migrateDown(knex: Knex, migrations = MIGRATIONS): Promise<string[]> {
  return locked(knex, async (connection) => {
    await connection.migrate.forceFreeMigrationsLock();
    const config = { migrationSource: sourceOf(migrations) };
    const [, names] = (await connection.migrate.down(config)) as [number, string[]];
    return names;
  });
}

/**
 * The names of the migrations that the database has, including those of later versions, and of those that it lacks.
 * Only reads, so the database user of a running service may call it.
 */
export async function migrationStatus(
  knex: Knex,
  migrations = MIGRATIONS,
): Promise<{ applied: string[]; pending: string[] }> {
  const applied = (await knex.schema.hasTable(HISTORY))
    ? await knex(HISTORY).whereNot({ batch: INCOMPLETE }).orderBy('name').pluck<string[]>('name')
    : [];
  const pending = migrations.map(({ name }) => name).filter((name) => !applied.includes(name));
  return { applied, pending };
}

function sourceOf(migrations: readonly Migration[]): Knex.MigrationSource<Migration> {
  return {
    getMigrations: () => Promise.resolve([...migrations]),
    getMigrationName: ({ name }) => name,
    getMigration: (migration) => Promise.resolve(migration),
  };
}

/**
 * Makes sure that the schema has all migrations of this version; it may also have later ones. The embedded database is
 * migrated if necessary. MySQL is never migrated here, since many instances may share it.
 *
 * @returns the version of the schema: the number of its migrations
 * @throws Error with a remedy in one line, when MySQL's schema lacks a migration
 */
export async function ensureSchema(
  knex: Knex,
  { engine }: Database,
  migrations = MIGRATIONS,
): Promise<number> {
  const { applied, pending } = await migrationStatus(knex, migrations);
  if (pending.length > 0) {
    if (engine === 'mysql')
      throw new Error(
        'The database schema is out of date. Update it with: node dist/migrate.js (from sources: npm run migrate)',
      );
    await migrateUp(knex, migrations);
  }
  return applied.length + pending.length;
}

/** How long a migration waits for another process's migration of a MySQL database, in milliseconds. */
const WAIT_MS = 60_000;
/** The name of the lock, by database, since locks belong to the whole server. A name has at most 64 characters. */
const LOCK = "concat('route-registry ', left(sha2(database(), 256), 40))";

/**
 * Runs `work` on one connection, under a lock that only one process holds per database. The lock ends with the
 * connection, so it never outlives the process. In the embedded database, `work` runs in one transaction, and waits as
 * long as any statement does.
 *
 * @param work uses only the connection that it receives
 * @param waitMs how long to wait for another process on MySQL, in milliseconds, a multiple of 1,000
 * @throws Error when another process holds the lock for longer
 */
export function locked<T>(knex: Knex, work: (connection: Knex) => Promise<T>, waitMs = WAIT_MS): Promise<T> {
  return isMysql(knex) ? lockedByName(knex, work, waitMs) : lockedByWriting(knex, work);
}

/** Uses a Knex transaction, since it keeps one connection to the end, even if its statements commit. */
function lockedByName<T>(knex: Knex, work: (connection: Knex) => Promise<T>, waitMs: number): Promise<T> {
  return knex.transaction(async (connection) => {
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
}

/** Writes in the first statement, which makes SQLite wait for the write lock as it does at `BEGIN IMMEDIATE`. */
function lockedByWriting<T>(knex: Knex, work: (connection: Knex) => Promise<T>): Promise<T> {
  return knex.transaction(async (connection) => {
    await connection.raw('PRAGMA user_version = 0');
    return work(connection);
  });
}
