import { hash } from 'node:crypto';
import type { Knex } from 'knex';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readDatabase } from '../../src/settings/config.js';
import { openDatabase } from '../../src/store/database.js';
import { KnexRouteStore } from '../../src/store/knex-route-store.js';
import { shapesAsText } from '../../src/store/migrations/0002-shapes-as-text.js';
import { migrateDown, migrateUp, migrationStatus } from '../../src/store/migrations.js';
import { ensureSchema } from '../../src/store/schema.js';
import { type Database, engines } from '../support/engines.js';
import { describeOn } from '../support/needs.js';
import { entryOf } from '../support/store-entries.js';

const NAMES = ['0001-routes', '0002-shapes-as-text'];

describeOn(engines)('the migrations on $name', (engine) => {
  let database: Database;
  let knex: Knex;

  beforeEach(async () => {
    database = await engine.createDatabase();
    knex = openDatabase(readDatabase({ DATABASE_URL: database.url }));
  });

  afterEach(async () => {
    await knex.destroy();
    await database.drop();
  });

  it('run up, down one by one, and up again', async () => {
    await expect(migrateUp(knex)).resolves.toEqual(NAMES);
    for (const name of [...NAMES].reverse()) await expect(migrateDown(knex)).resolves.toEqual([name]);
    await expect(migrateDown(knex)).resolves.toEqual([]);
    await expect(knex.schema.hasTable('routes')).resolves.toBe(false);
    await expect(migrateUp(knex)).resolves.toEqual(NAMES);
    await expect(knex.schema.hasTable('routes')).resolves.toBe(true);
  });

  it("go on with what Knex's own migrator did, even where that was interrupted", async () => {
    await migrateUp(knex);
    await migrateDown(knex);
    await knex.schema.createTable('knex_migrations_lock', (table) => {
      table.increments('index').primary();
      table.integer('is_locked');
    });
    await knex('knex_migrations_lock').insert({ is_locked: 1 });
    await knex('knex_migrations').update({ batch: 3, migration_time: new Date(1_000) });
    await expect(migrationStatus(knex)).resolves.toEqual([
      { name: '0001-routes', state: 'applied' },
      { name: '0002-shapes-as-text', state: 'pending' },
    ]);
    await expect(migrateUp(knex)).resolves.toEqual(NAMES.slice(-1));
    await expect(knex('knex_migrations').orderBy('id').select('name', 'batch')).resolves.toEqual([
      { name: '0001-routes', batch: 3 },
      { name: '0002-shapes-as-text', batch: 4 },
    ]);
    await expect(migrateDown(knex)).resolves.toEqual(NAMES.slice(-1));
  });

  it('do not touch a database that a newer version has migrated', async () => {
    await migrateUp(knex);
    await knex('knex_migrations').insert({ name: '9999-later', batch: 2, migration_time: new Date() });
    const refusal = 'A newer version has migrated the database (9999-later). Use that version.';
    await expect(migrateUp(knex)).rejects.toThrow(refusal);
    await expect(migrateDown(knex)).rejects.toThrow(refusal);
  });

  it('leave a table of the same name alone that is not theirs', async () => {
    await knex.schema.createTable('routes', (table) => {
      table.string('stop');
    });
    await knex('routes').insert({ stop: 'Station' });
    await expect(migrateUp(knex)).rejects.toThrow();
    await expect(migrateDown(knex).catch(() => [])).resolves.toEqual([]);
    await expect(knex('routes').select()).resolves.toEqual([{ stop: 'Station' }]);
  });

  it('run once', async () => {
    await migrateUp(knex);
    await expect(migrateUp(knex)).resolves.toEqual([]);
  });

  it('tell what the database has, and change nothing by it', async () => {
    await expect(migrationStatus(knex)).resolves.toEqual(NAMES.map((name) => ({ name, state: 'pending' })));
    await expect(knex.schema.hasTable('knex_migrations')).resolves.toBe(false);
    await migrateUp(knex);
    await expect(migrationStatus(knex)).resolves.toEqual(NAMES.map((name) => ({ name, state: 'applied' })));
  });

  it('turn the shapes of stored routes into text and back', async () => {
    await migrateUp(knex);
    const store = new KnexRouteStore(knex);
    // More than one statement changes, and a second route with the shape of the first one, which holds none.
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
  it('is brought up to date at start', async () => {
    const knex = openDatabase({ engine: 'sqlite', file: ':memory:' });
    await ensureSchema(knex, { engine: 'sqlite', file: ':memory:' });
    await expect(knex.schema.hasTable('routes')).resolves.toBe(true);
    await knex.destroy();
  });
});

describeOn(engines.slice(1))('a database on $name', (engine) => {
  let database: Database;
  let knex: Knex;
  let location: ReturnType<typeof readDatabase>;

  beforeEach(async () => {
    database = await engine.createDatabase();
    location = readDatabase({ DATABASE_URL: database.url });
    knex = openDatabase(location);
  });

  afterEach(async () => {
    await knex.destroy();
    await database.drop();
  });

  it('whose schema is behind is refused with the command that helps', async () => {
    await expect(ensureSchema(knex, location)).rejects.toThrow(
      'The database schema is out of date. Update it with: npm run migrate',
    );
    await expect(knex.schema.hasTable('routes')).resolves.toBe(false);
  });

  it('whose schema is up to date is accepted', async () => {
    await migrateUp(knex);
    await expect(ensureSchema(knex, location)).resolves.toBe(2);
  });

  it('keeps text as utf8mb4 whatever its default is', async () => {
    await migrateUp(knex);
    const rows = (await knex('information_schema.columns')
      .where({ table_schema: knex.raw('database()'), table_name: 'routes' })
      .whereNotNull('character_set_name')
      .select({ charset: 'character_set_name', collation: 'collation_name' })
      .distinct()) as unknown;
    expect(rows).toEqual([{ charset: 'utf8mb4', collation: 'utf8mb4_bin' }]);
  });
});
