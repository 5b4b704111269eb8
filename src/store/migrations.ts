import type { Knex } from 'knex';
import { addressOf, engineOf } from './database.js';
import { endsConnection, lacksGrant, translate } from './driver-errors.js';
import { createRoutes } from './migrations/0001-routes.js';
import { explainInsert } from './route-row.js';

/** A step of the schema. MySQL commits every statement, so it must also complete an interrupted run of itself. */
export interface Migration {
  /** Four digits for its order, then its purpose: `0002-owner`. */
  readonly name: string;
  up(knex: Knex): Promise<void>;
}

/** The migrations of this version, in the order in which they run. */
export const MIGRATIONS: readonly Migration[] = [createRoutes];

/** Our own, since another application in the same database may have Knex's `knex_migrations`. */
const HISTORY = 'route_registry_migrations';
const EARLIER_HISTORY = 'knex_migrations';

/**
 * Brings the schema up to date and returns the names of the migrations that ran. Waits for a migration in another
 * process. If a run is interrupted, the next one completes it.
 *
 * @throws Error when an earlier build has made the table, or another process migrates for longer than a minute
 */
export function migrateUp(knex: Knex, migrations = MIGRATIONS): Promise<string[]> {
  return locked(knex, async (connection) => {
    await refuseEarlierBuild(connection);
    const config = {
      tableName: HISTORY,
      migrationSource: sourceOf(migrations),
      // A later version may have migrated already.
      disableMigrationsListValidation: true,
    };
    await connection.migrate.forceFreeMigrationsLock(config);
    const [, names] = (await connection.migrate.latest(config)) as [number, string[]];
    return names;
  });
}

/** Builds before the first version recorded their migrations in Knex's table, and had other columns. */
async function refuseEarlierBuild(knex: Knex): Promise<void> {
  if ((await knex.schema.hasTable(HISTORY)) || !(await knex.schema.hasTable(EARLIER_HISTORY))) return;
  const made: unknown = await knex(EARLIER_HISTORY).where({ name: '0001-routes' }).first('name');
  if (made === undefined || !(await knex.schema.hasColumn('routes', 'shape'))) return;
  throw new Error(
    'The database in DATABASE_URL was made by a build before the first version, whose table routes has another form: name an empty one.',
  );
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
    ? await knex(HISTORY).orderBy('name').pluck<string[]>('name')
    : [];
  const pending = migrations.map(({ name }) => name).filter((name) => !applied.includes(name));
  return { applied, pending };
}

function sourceOf(migrations: readonly Migration[]): Knex.MigrationSource<Migration> {
  return {
    getMigrations: () => Promise.resolve([...migrations]),
    getMigrationName: ({ name }) => name,
    // Knex demands a way down, too. There is none: the previous version runs on the new schema.
    getMigration: (migration) =>
      Promise.resolve({ ...migration, down: () => Promise.reject(new Error('There is no way down.')) }),
  };
}

/**
 * Makes sure that the schema has all migrations of this version; it may also have later ones. The embedded database is
 * migrated if necessary. MySQL is never migrated here, since many instances may share it.
 *
 * @returns the version of the schema: the number of its migrations
 * @throws Error with a remedy in one line, when MySQL's schema lacks a migration, or the user a grant for creates
 */
export async function ensureSchema(knex: Knex, migrations = MIGRATIONS): Promise<number> {
  const { applied, pending } = await migrationStatus(knex, migrations);
  const isEmbedded = engineOf(knex) === 'sqlite';
  if (pending.length > 0 && !isEmbedded) {
    await refuseEarlierBuild(knex);
    throw new Error(
      'The database schema is out of date. Update it with: node dist/migrate.js (from sources: npm run migrate)',
    );
  }
  if (pending.length > 0) await migrateUp(knex, migrations);
  if (!isEmbedded) await requireGrants(knex);
  return applied.length + pending.length;
}

/** Explains an `INSERT`, for which the user needs the same grants. @throws Error that names those that are missing */
async function requireGrants(knex: Knex): Promise<void> {
  try {
    await knex.raw(explainInsert());
  } catch (error) {
    // Whatever else is wrong, perhaps for a moment, is not the user's lack of a grant.
    if (lacksGrant(error)) throw translate(error, addressOf(knex));
  }
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
  switch (engineOf(knex)) {
    case 'mysql':
      return lockedByName(knex, work, waitMs);
    case 'sqlite':
      return lockedByWriting(knex, work);
  }
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
async function lockedByWriting<T>(knex: Knex, work: (connection: Knex) => Promise<T>): Promise<T> {
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
