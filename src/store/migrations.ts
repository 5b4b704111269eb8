import type { Knex } from 'knex';
import { locked } from './migration-lock.js';
import { createRoutes } from './migrations/0001-routes.js';
import { shapesAsText } from './migrations/0002-shapes-as-text.js';

/** A step of the schema. MySQL commits every statement, so an interrupted run leaves some of its changes. */
interface Migration {
  readonly name: string;
  /** Also completes what an interrupted run of either direction left. */
  up(knex: Knex): Promise<void>;
  down(knex: Knex): Promise<void>;
}

const MIGRATIONS: readonly Migration[] = [createRoutes, shapesAsText];

/** What the database has of a migration; `interrupted` is something, but not all. */
export type MigrationState = 'applied' | 'interrupted' | 'pending';

/** The table that Knex's own migrator would keep, so that either can go on where the other ended. */
const HISTORY = 'knex_migrations';
/** Knex counts batches from 1. */
const UNFINISHED = 0;

interface HistoryRow {
  readonly name: string;
  /** The number of the run that applied the migration; 0 while it is being applied or rolled back. */
  readonly batch: number;
  readonly migration_time: Date;
}

/**
 * Brings the schema up to date and returns the names of the migrations that ran. Waits for a migration in another
 * process. If a run is interrupted, the next one completes it.
 *
 * @throws Error when another process migrates for longer than a minute, or a newer version has migrated the database
 */
export function migrateUp(knex: Knex): Promise<string[]> {
  return locked(knex, async (connection) => {
    const batches = await writableHistory(connection);
    const batch = Math.max(0, ...batches.values()) + 1;
    const outstanding = MIGRATIONS.filter(({ name }) => stateOf(name, batches) !== 'applied');
    for (const migration of outstanding) {
      const { name } = migration;
      if (!batches.has(name)) await connection(HISTORY).insert(rowOf(name, UNFINISHED));
      await migration.up(connection);
      await connection(HISTORY).where({ name }).update(rowOf(name, batch));
    }
    return outstanding.map(({ name }) => name);
  });
}

/**
 * Rolls the newest migration back, with its data, and returns its name; empty where there is none. Waits and goes on
 * like `migrateUp`.
 *
 * @throws Error like `migrateUp`
 */
export function migrateDown(knex: Knex): Promise<string[]> {
  return locked(knex, async (connection) => {
    const batches = await writableHistory(connection);
    const newest = MIGRATIONS.findLast(({ name }) => batches.has(name));
    if (newest === undefined) return [];
    const { name } = newest;
    if (stateOf(name, batches) === 'interrupted') await newest.up(connection);
    await connection(HISTORY).where({ name }).update(rowOf(name, UNFINISHED));
    await newest.down(connection);
    await connection(HISTORY).where({ name }).del();
    return [name];
  });
}

/** Every migration of this version and what the database has of it. Changes nothing. */
export async function migrationStatus(knex: Knex): Promise<{ name: string; state: MigrationState }[]> {
  const batches = (await knex.schema.hasTable(HISTORY)) ? await batchesIn(knex) : new Map<string, number>();
  return MIGRATIONS.map(({ name }) => ({ name, state: stateOf(name, batches) }));
}

function stateOf(name: string, batches: ReadonlyMap<string, number>): MigrationState {
  const batch = batches.get(name);
  if (batch === undefined) return 'pending';
  return batch === UNFINISHED ? 'interrupted' : 'applied';
}

/** The batch of each migration in the history, which is made where there is none. */
async function writableHistory(knex: Knex): Promise<Map<string, number>> {
  if (!(await knex.schema.hasTable(HISTORY))) {
    await knex.schema.createTable(HISTORY, (table) => {
      table.increments();
      table.string('name');
      table.integer('batch');
      table.timestamp('migration_time');
    });
  }
  const batches = await batchesIn(knex);
  const unknown = [...batches.keys()].filter((name) => !MIGRATIONS.some((each) => each.name === name));
  if (unknown.length > 0)
    throw new Error(`A newer version has migrated the database (${unknown.join(', ')}). Use that version.`);
  return batches;
}

async function batchesIn(knex: Knex): Promise<Map<string, number>> {
  const rows = await knex<HistoryRow>(HISTORY).select('name', 'batch');
  return new Map(rows.map(({ name, batch }) => [name, batch]));
}

function rowOf(name: string, batch: number): HistoryRow {
  return { name, batch, migration_time: new Date() };
}
