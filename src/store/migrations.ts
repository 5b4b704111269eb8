import type { Knex } from 'knex';
import { addressOf, engineOf } from './database.js';
import { translate } from './driver-errors.js';
import { ENGINES } from './engines/engines.js';
import { createRoutes } from './migrations/0001-routes.js';

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
 * process. If a run is interrupted, the next run completes it.
 *
 * @throws Error when an earlier build has made the table, or another process migrates for longer than a minute
 */
export function migrateUp(knex: Knex, migrations = MIGRATIONS): Promise<string[]> {
  return underMigrationLock(knex, async (connection) => {
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
  const engine = ENGINES[engineOf(knex)];
  if (pending.length > 0 && engine.isShared) {
    await refuseEarlierBuild(knex);
    throw new Error(
      'The database schema is out of date. Update it with: node dist/migrate.js (from sources: npm run migrate)',
    );
  }
  if (pending.length > 0) await migrateUp(knex, migrations);
  try {
    await engine.requireGrants(knex);
  } catch (error) {
    throw translate(error, addressOf(knex));
  }
  return applied.length + pending.length;
}

/** How long a migration waits for another process's migration of a MySQL database, in milliseconds. */
const WAIT_MS = 60_000;

/**
 * Runs `work` on one connection, under a lock that only one process holds per database, and that never outlives the
 * process.
 *
 * @param work uses only the connection that it receives
 * @param waitMs how long to wait for another process on MySQL, in milliseconds, a multiple of 1,000
 * @throws Error when another process holds the lock for longer
 */
export function underMigrationLock<T>(
  knex: Knex,
  work: (connection: Knex) => Promise<T>,
  waitMs = WAIT_MS,
): Promise<T> {
  return ENGINES[engineOf(knex)].underLock(knex, work, waitMs);
}
