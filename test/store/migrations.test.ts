import { hash } from 'node:crypto';
import type { Knex } from 'knex';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { shapesAsText } from '../../src/store/migrations/0002-shapes-as-text.js';
import { migrateDown, migrateUp, MIGRATIONS, migrationStatus } from '../../src/store/migrations.js';
import { ensureSchema } from '../../src/store/schema.js';
import { engines } from '../support/engines.js';
import { describeOn } from '../support/needs.js';
import { type OpenedDatabase, openEmpty, openStore } from '../support/open-store.js';
import { entryOf } from '../support/store-entries.js';

const NAMES = MIGRATIONS.map(({ name }) => name);
const NEWEST = NAMES.slice(-1);
/** The batch number of an earlier run. */
const BATCH = 3;

describeOn(engines)('the migrations on $name', (engine) => {
  let database: OpenedDatabase;
  let knex: Knex;

  beforeEach(async () => {
    database = await openEmpty(engine);
    ({ knex } = database);
  });

  afterEach(() => database.close());

  it('run up, down one by one, and up again', async () => {
    await expect(migrateUp(knex)).resolves.toEqual(NAMES);
    for (const name of [...NAMES].reverse()) await expect(migrateDown(knex)).resolves.toEqual([name]);
    await expect(migrateDown(knex)).resolves.toEqual([]);
    await expect(knex.schema.hasTable('routes')).resolves.toBe(false);
    await expect(migrateUp(knex)).resolves.toEqual(NAMES);
    await expect(knex.schema.hasTable('routes')).resolves.toBe(true);
  });

  it('release a lock that a Knex run left, and continue its batch numbers', async () => {
    await migrateUp(knex);
    await migrateDown(knex);
    await knex('knex_migrations_lock').update({ is_locked: 1 });
    await knex('knex_migrations').update({ batch: BATCH });
    await expect(migrateUp(knex)).resolves.toEqual(NEWEST);
    await expect(knex('knex_migrations').where({ name: NEWEST[0] }).pluck('batch')).resolves.toEqual([
      BATCH + 1,
    ]);
    await knex('knex_migrations_lock').update({ is_locked: 1 });
    await expect(migrateDown(knex)).resolves.toEqual(NEWEST);
  });

  it('complete an interrupted run of 0.1.0', async () => {
    await migrateUp(knex);
    await knex.schema.dropTable('knex_migrations_lock');
    await knex('knex_migrations').where({ name: NEWEST[0] }).update({ batch: 0 });
    await expect(migrationStatus(knex)).resolves.toEqual({ applied: NAMES.slice(0, -1), pending: NEWEST });
    await expect(migrateUp(knex)).resolves.toEqual(NEWEST);
    await expect(knex('knex_migrations').orderBy('id').pluck('name')).resolves.toEqual(NAMES);
  });

  it('roll back only the migration that 0.1.0 was about to roll back', async () => {
    await migrateUp(knex);
    await knex('knex_migrations').where({ name: NEWEST[0] }).update({ batch: 0 });
    await expect(migrateDown(knex)).resolves.toEqual(NEWEST);
    await expect(knex.schema.hasTable('routes')).resolves.toBe(true);
  });

  it('leave an unrelated table of the same name alone', async () => {
    await knex.schema.createTable('routes', (table) => {
      table.string('stop');
    });
    await knex('routes').insert({ stop: 'Station' });
    await expect(migrateUp(knex)).rejects.toThrow();
    await expect(migrateDown(knex).catch(() => [])).resolves.toEqual([]);
    await expect(knex('routes').select()).resolves.toEqual([{ stop: 'Station' }]);
  });

  it('do nothing when they run again', async () => {
    await migrateUp(knex);
    await expect(migrateUp(knex)).resolves.toEqual([]);
  });

  it('report their status without changing the database', async () => {
    await expect(migrationStatus(knex)).resolves.toEqual({ applied: [], pending: NAMES });
    await expect(knex.schema.hasTable('knex_migrations')).resolves.toBe(false);
    await migrateUp(knex);
    await expect(migrationStatus(knex)).resolves.toEqual({ applied: NAMES, pending: [] });
  });

  it('convert the shapes of stored routes to text and back', async () => {
    const { knex, store, close } = await openStore(engine);
    onTestFinished(close);
    // More routes than one statement converts, and a duplicate of the first route, which stores no shape.
    const entries = [
      ...Array.from({ length: 1_100 }, (_, i) => entryOf({ path: `/r${i}/:id` })),
      entryOf({ path: '/r0/:key' }),
    ];
    await Promise.all(entries.map((entry) => store.insert(entry, 'allow')));
    const stored = async (): Promise<string[]> => {
      const rows = await knex<{ shape: Buffer | null }>('routes').whereNotNull('shape').select('shape');
      return rows.map(({ shape }) => Buffer.from(shape ?? '').toString('hex')).sort();
    };
    const shapes = entries.slice(0, -1).map(({ shape }) => shape);
    const asText = shapes.map((shape) => Buffer.from(shape).toString('hex')).sort();

    await expect(stored()).resolves.toEqual(asText);
    await shapesAsText.down(knex);
    await expect(stored()).resolves.toEqual(shapes.map((shape) => hash('sha256', shape)).sort());
    await shapesAsText.up(knex);
    await expect(stored()).resolves.toEqual(asText);
    await shapesAsText.up(knex);
    await expect(stored()).resolves.toEqual(asText);
    await expect(store.insert(entryOf({ path: '/r1099/:other' }), 'reject')).resolves.toMatchObject({
      outcome: 'duplicate',
    });
  });
});

describe('an embedded database', () => {
  it('is migrated when the service starts', async () => {
    const { knex, location, close } = await openEmpty(engines[0]);
    onTestFinished(close);
    await expect(ensureSchema(knex, location)).resolves.toBe(NAMES.length);
    await expect(knex.schema.hasTable('routes')).resolves.toBe(true);
  });
});

describeOn(engines.slice(1))('a database on $name', (engine) => {
  let database: OpenedDatabase;
  let knex: Knex;

  beforeEach(async () => {
    database = await openEmpty(engine);
    ({ knex } = database);
  });

  afterEach(() => database.close());

  it('with an outdated schema is refused with the command that updates it', async () => {
    await expect(ensureSchema(knex, database.location)).rejects.toThrow(
      'The database schema is out of date. Update it with: npm run migrate',
    );
    await expect(knex.schema.hasTable('routes')).resolves.toBe(false);
  });

  it('with an up-to-date schema is accepted', async () => {
    await migrateUp(knex);
    await expect(ensureSchema(knex, database.location)).resolves.toBe(NAMES.length);
  });

  it('stores text as utf8mb4, whatever its default', async () => {
    await migrateUp(knex);
    const rows = (await knex('information_schema.columns')
      .where({ table_schema: knex.raw('database()'), table_name: 'routes' })
      .whereNotNull('character_set_name')
      .select({ charset: 'character_set_name', collation: 'collation_name' })
      .distinct()) as unknown;
    expect(rows).toEqual([{ charset: 'utf8mb4', collation: 'utf8mb4_bin' }]);
  });
});
