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

/** Brings the schema up to date and returns the names of the migrations that ran. */
export async function migrateUp(knex: Knex): Promise<string[]> {
  const [, names] = (await knex.migrate.latest({ migrationSource: SOURCE, tableName: HISTORY })) as [
    number,
    string[],
  ];
  return names;
}

/** Takes the newest batch of migrations back, and its data with it, and returns their names. */
export async function migrateDown(knex: Knex): Promise<string[]> {
  const [, names] = (await knex.migrate.rollback({ migrationSource: SOURCE, tableName: HISTORY })) as [
    number,
    string[],
  ];
  return names;
}

/** Every migration of this version and whether the database has it. Changes nothing. */
export async function migrationStatus(knex: Knex): Promise<{ name: string; applied: boolean }[]> {
  const applied = new Set<string>();
  if (await knex.schema.hasTable(HISTORY)) {
    for (const row of await knex<{ name: string }>(HISTORY).select('name')) applied.add(row.name);
  }
  return MIGRATIONS.map(({ name }) => ({ name, applied: applied.has(name) }));
}
