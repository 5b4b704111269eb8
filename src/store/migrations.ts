import type { Knex } from 'knex';
import { createRoutes } from './migrations/0001-routes.js';
import { shapesAsText } from './migrations/0002-shapes-as-text.js';

const MIGRATIONS: readonly (Knex.Migration & { readonly name: string })[] = [createRoutes, shapesAsText];

type Migration = (typeof MIGRATIONS)[number];

const SOURCE: Knex.MigrationSource<Migration> = {
  getMigrations: () => Promise.resolve([...MIGRATIONS]),
  getMigrationName: (migration) => migration.name,
  getMigration: (migration) => Promise.resolve(migration),
};

const HISTORY = 'knex_migrations';

const CONFIG: Knex.MigratorConfig = { migrationSource: SOURCE, tableName: HISTORY };

/**
 * Brings the schema up to date and returns the names of the migrations that ran.
 *
 * @throws Error when another process is migrating, or was interrupted while it did
 */
export async function migrateUp(knex: Knex): Promise<string[]> {
  return namesOf(await unlessLocked(knex.migrate.latest(CONFIG)));
}

/**
 * Rolls the newest migration back, with its data, and returns its name; empty where there is none.
 *
 * @throws Error like `migrateUp`
 */
export async function migrateDown(knex: Knex): Promise<string[]> {
  return namesOf(await unlessLocked(knex.migrate.down(CONFIG)));
}

/** Releases the lock of an interrupted migration. No migration may be running. */
export async function unlockMigrations(knex: Knex): Promise<void> {
  await knex.migrate.forceFreeMigrationsLock(CONFIG);
}

/** Knex returns the number of the batch, and what ran. */
function namesOf([, names]: [number, string[]]): string[] {
  return names;
}

async function unlessLocked(migration: Promise<unknown>): Promise<[number, string[]]> {
  try {
    return (await migration) as [number, string[]];
  } catch (error) {
    if (!(error instanceof Error) || error.name !== 'MigrationLocked') throw error;
    throw new Error(
      'Another process is migrating the database. If none is, a migration was interrupted: npm run migrate -- --unlock',
      { cause: error },
    );
  }
}

/** Every migration of this version and whether the database has it. Changes nothing. */
export async function migrationStatus(knex: Knex): Promise<{ name: string; applied: boolean }[]> {
  const applied = new Set<string>();
  if (await knex.schema.hasTable(HISTORY)) {
    for (const row of await knex<{ name: string }>(HISTORY).select('name')) applied.add(row.name);
  }
  return MIGRATIONS.map(({ name }) => ({ name, applied: applied.has(name) }));
}
