import type { Knex } from 'knex';
import { locked } from './migration-lock.js';
import { createRoutes } from './migrations/0001-routes.js';
import { shapesAsText } from './migrations/0002-shapes-as-text.js';

/** A step of the schema. MySQL commits every statement, so an interrupted run leaves some of its changes. */
export interface Migration {
  /**
   * Four digits for its order, then its meaning for other versions, then its purpose: `0003-expand-owner` changes
   * nothing for versions that run without it, `0004-contract-0003-owner` ends versions that do not need 0003 yet. This
   * name in the history is all that an earlier version learns about it.
   */
  readonly name: string;
  /** Also completes an interrupted run of either direction. */
  up(knex: Knex): Promise<void>;
  down(knex: Knex): Promise<void>;
}

/** The schemas that a version supports. */
export interface Schema {
  /** In the order of their names, in which they run. */
  readonly migrations: readonly Migration[];
  /** The newest migration that the queries of this version need. Later ones may be pending or in progress. */
  readonly needed: string;
}

/** The schemas that this version supports. */
export const SCHEMA: Schema = { migrations: [createRoutes, shapesAsText], needed: shapesAsText.name };

const EXPANDING = /^\d{4}-expand-/;
const CONTRACTING = /^\d{4}-contract-(\d{4})-/;

/** The state of a migration in the database; `interrupted` is partly applied, `newer` belongs to a later version. */
type MigrationState = 'applied' | 'interrupted' | 'pending' | 'newer';

/** The table of Knex's own migrator, so that either can continue where the other stopped. */
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
 *   and this one does not support the result, or would change it
 */
export function migrateUp(knex: Knex, schema = SCHEMA): Promise<string[]> {
  return locked(knex, async (connection) => {
    const batches = await writableHistory(connection);
    const newer = newerIn(batches, schema);
    const outstanding = schema.migrations.filter(({ name }) => stateOf(name, batches) !== 'applied');
    if (outstanding.length > 0 && newer.length > 0) throw newerVersion(newer);
    requireRunnable(newer, schema);
    const batch = Math.max(0, ...batches.values()) + 1;
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
 * Rolls the newest migration back, with its data, and returns its name; empty if there is none. Waits and continues
 * like `migrateUp`.
 *
 * @throws Error when another process migrates for longer than a minute, or a newer version has migrated the database
 */
export function migrateDown(knex: Knex, schema = SCHEMA): Promise<string[]> {
  return locked(knex, async (connection) => {
    const batches = await writableHistory(connection);
    const newer = newerIn(batches, schema);
    if (newer.length > 0) throw newerVersion(newer);
    const newest = schema.migrations.findLast(({ name }) => batches.has(name));
    if (newest === undefined) return [];
    const { name } = newest;
    if (stateOf(name, batches) === 'interrupted') await newest.up(connection);
    await connection(HISTORY).where({ name }).update(rowOf(name, UNFINISHED));
    await newest.down(connection);
    await connection(HISTORY).where({ name }).del();
    return [name];
  });
}

/** Every migration of this version with its state, then those of newer versions. Changes nothing. */
export async function migrationStatus(
  knex: Knex,
  schema = SCHEMA,
): Promise<{ name: string; state: MigrationState }[]> {
  const batches = (await knex.schema.hasTable(HISTORY)) ? await batchesIn(knex) : new Map<string, number>();
  return [
    ...schema.migrations.map(({ name }) => ({ name, state: stateOf(name, batches) })),
    ...newerIn(batches, schema).map((name) => ({ name, state: 'newer' as const })),
  ];
}

/**
 * @param newer the names of migrations that this version does not know
 * @throws Error unless this version supports the schema that they leave
 */
export function requireRunnable(newer: readonly string[], { needed }: Schema): void {
  const ending = newer.filter((name) => {
    const contractedTo = CONTRACTING.exec(name)?.[1];
    return !EXPANDING.test(name) && (contractedTo === undefined || contractedTo > needed.slice(0, 4));
  });
  if (ending.length > 0) throw newerVersion(ending);
}

function newerVersion(names: readonly string[]): Error {
  return new Error(`A newer version has migrated the database (${names.join(', ')}). Use that version.`);
}

/** The migrations in the history that this version does not know, in their order. */
function newerIn(batches: ReadonlyMap<string, number>, { migrations }: Schema): string[] {
  return [...batches.keys()].filter((name) => !migrations.some((each) => each.name === name)).sort();
}

function stateOf(name: string, batches: ReadonlyMap<string, number>): MigrationState {
  const batch = batches.get(name);
  if (batch === undefined) return 'pending';
  return batch === UNFINISHED ? 'interrupted' : 'applied';
}

/** The batch of each migration in the history, which is created if it does not exist. */
async function writableHistory(knex: Knex): Promise<Map<string, number>> {
  if (!(await knex.schema.hasTable(HISTORY))) {
    await knex.schema.createTable(HISTORY, (table) => {
      table.increments();
      table.string('name');
      table.integer('batch');
      table.timestamp('migration_time');
    });
  }
  return batchesIn(knex);
}

async function batchesIn(knex: Knex): Promise<Map<string, number>> {
  const rows = await knex<HistoryRow>(HISTORY).select('name', 'batch');
  return new Map(rows.map(({ name, batch }) => [name, batch]));
}

function rowOf(name: string, batch: number): HistoryRow {
  return { name, batch, migration_time: new Date() };
}
