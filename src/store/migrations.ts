import type { Knex } from 'knex';
import type { Database } from '../settings/database-url.js';
import { isMysql } from './database.js';
import { endsConnection } from './driver-errors.js';
import { createRoutes } from './migrations/0001-routes.js';
import { shapesAsText } from './migrations/0002-shapes-as-text.js';
import { patternShapes, rereadPaths } from './migrations/0003-pattern-shapes.js';

/**
 * A step of the schema. MySQL commits every statement, so an interrupted run leaves some of its changes: each direction
 * must also complete an interrupted run of itself.
 */
export interface Migration {
  /** Four digits for its order, then its purpose: `0004-owner`. */
  readonly name: string;
  /** The table that `down` drops; default: none. */
  readonly drops?: string;
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

interface Rollback {
  /** Whether a table with rows may be dropped; default: no. */
  readonly force?: boolean;
  readonly migrations?: readonly Migration[];
}

/**
 * Rolls the newest migration back, with the data that it made room for. Resolves with whether it was applied: since it is
 * named, a repeated call never rolls back another one. Waits for other processes and completes an interrupted run, as
 * `migrateUp` does.
 *
 * @throws Error when this version has no such migration, or a newer one is applied; when it would drop a table with rows
 *   without `force`, or `force` is given and it drops none; when another process migrates for longer than a minute
 */
export async function migrateDown(
  knex: Knex,
  name: string,
  { force = false, migrations = MIGRATIONS }: Rollback = {},
): Promise<boolean> {
  const migration = migrations.find((each) => each.name === name);
  if (migration === undefined)
    throw new Error(
      `${JSON.stringify(name)} is no migration of this version, which has ${migrations.map((each) => each.name).join(', ')}.`,
    );
  const { drops } = migration;
  if (force && drops === undefined)
    throw new Error(`Rolling ${name} back drops no table. Leave out --force.`);
  return locked(knex, async (connection) => {
    // In the order of their numbers, with one that 0.1.0 has not completed.
    const applied = (await connection.schema.hasTable(HISTORY))
      ? await connection(HISTORY).orderBy('name').pluck<string[]>('name')
      : [];
    if (!applied.includes(name)) return false;
    const newest = applied.at(-1) ?? name;
    if (newest !== name) throw new Error(`${name} is not the newest migration. Roll ${newest} back first.`);
    if (drops !== undefined && !force && (await hasRows(connection, drops)))
      throw new Error(
        `Rolling ${name} back drops the table ${drops}, which has rows. Back it up, then repeat this with --force.`,
      );
    await connection.migrate.forceFreeMigrationsLock();
    await connection.migrate.down({ migrationSource: sourceOf(migrations), name });
    return true;
  });
}

/** Whether there is such a table, and a row in it. */
async function hasRows(knex: Knex, table: string): Promise<boolean> {
  return (await knex.schema.hasTable(table)) && (await knex(table).first(knex.raw('1'))) !== undefined;
}

/**
 * Gives every route the shape that this version gives it, if another version has stored it meanwhile. Resolves with the
 * number of changed routes; can safely run again. Instances of this version may run: the embedded database is locked only
 * for a batch at a time.
 *
 * @throws Error when the database has not exactly the migrations of this version, or another process migrates for longer
 *   than a minute
 */
export async function rereadShapes(knex: Knex, migrations = MIGRATIONS): Promise<number> {
  const { applied, pending } = await migrationStatus(knex, migrations);
  if (pending.length > 0)
    throw new Error(`The database lacks ${pending.join(', ')}. Migrate it first, without options.`);
  if (applied.length > migrations.length)
    throw new Error(
      `A later version has migrated the database (${String(applied.at(-1))}). Use that version.`,
    );
  return isMysql(knex)
    ? locked(knex, (connection) => rereadPaths(connection))
    : rereadPaths(knex, (work) => locked(knex, work));
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
async function lockedByName<T>(
  knex: Knex,
  work: (connection: Knex) => Promise<T>,
  waitMs: number,
): Promise<T> {
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

/** Writes in the first statement, which makes SQLite wait for the write lock as it does at `BEGIN IMMEDIATE`. */
function lockedByWriting<T>(knex: Knex, work: (connection: Knex) => Promise<T>): Promise<T> {
  return knex.transaction(async (connection) => {
    await connection.raw('PRAGMA user_version = 0');
    return work(connection);
  });
}
