import type { Knex } from 'knex';
import { locked } from './migration-lock.js';
import { createRoutes } from './migrations/0001-routes.js';
import { shapesAsText } from './migrations/0002-shapes-as-text.js';
import { patternShapes } from './migrations/0003-pattern-shapes.js';

/**
 * A step of the schema. MySQL commits every statement, so an interrupted run leaves some of its changes: each direction
 * must also complete an interrupted run of itself.
 */
export interface Migration {
  /** Four digits for its order, then its purpose: `0003-owner`. */
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
