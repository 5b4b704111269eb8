import type { Knex } from 'knex';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { migrateDown, migrateUp, migrationStatus, SCHEMA } from '../../src/store/migrations.js';
import { ensureSchema } from '../../src/store/schema.js';
import { engines } from '../support/engines.js';
import { CONTRACT, CONTRACTED, EXPAND, NEEDING, NEXT } from '../support/later-schemas.js';
import { describeOn } from '../support/needs.js';
import { type KnexRouteStore, type OpenedStore, openStore } from '../support/open-store.js';
import { entryOf } from '../support/store-entries.js';

const OUT_OF_DATE = 'The database schema is out of date. Update it with: npm run migrate';
const NEWER = `A newer version has migrated the database (${CONTRACT.name}). Use that version.`;

/** Creates a route and gets it again. */
async function use(store: KnexRouteStore): Promise<void> {
  const entry = entryOf();
  await expect(store.insert(entry, 'reject')).resolves.toEqual({ outcome: 'inserted' });
  await expect(store.find(entry.route.id)).resolves.toEqual(entry.route);
}

describeOn(engines)('on $name', (engine) => {
  let database: OpenedStore;
  let knex: Knex;

  beforeEach(async () => {
    database = await openStore(engine);
    ({ knex } = database);
  });

  afterEach(() => database.close());

  it('this version starts and works on the schema of the next one', async () => {
    await migrateUp(knex, NEXT);
    await ensureSchema(knex, database.location);
    await use(database.store);
  });

  it('its migrations have nothing to do there, as after a way back', async () => {
    await migrateUp(knex, NEXT);
    await expect(migrateUp(knex)).resolves.toEqual([]);
  });

  it('it rolls nothing back there', async () => {
    await migrateUp(knex, NEXT);
    await expect(migrateDown(knex)).rejects.toThrow(`(${EXPAND.name}). Use that version.`);
  });

  it('its calls go on while the next one migrates, there and back', async () => {
    const { store } = database;
    const other = database.connect();
    const migrated = new AbortController();
    const migrating = (async () => {
      for (let round = 0; round < 5; round++) {
        await migrateUp(other, NEXT);
        await migrateDown(other, NEXT);
      }
    })().finally(() => {
      migrated.abort();
    });
    let calls = 0;
    for (; !migrated.signal.aborted; calls++) await use(store);
    await migrating;
    expect(calls).toBeGreaterThan(0);
  });

  it('the next version works on the schema of this one, and starts there', async () => {
    await use(database.store);
    await ensureSchema(knex, database.location, NEXT);
    await use(database.storeWith({}));
  });

  it('a version that needs no contracted part runs on without it', async () => {
    await migrateUp(knex, CONTRACTED);
    await expect(ensureSchema(knex, database.location, NEEDING)).resolves.toBe(CONTRACTED.migrations.length);
    await expect(migrateUp(knex, NEEDING)).resolves.toEqual([]);
  });

  it.each([
    ['this one', SCHEMA],
    ['the next one', NEXT],
  ])('a version that needs what was contracted is refused: %s', async (_name, schema) => {
    await migrateUp(knex, CONTRACTED);
    await expect(ensureSchema(knex, database.location, schema)).rejects.toThrow(NEWER);
    await expect(migrateUp(knex, schema)).rejects.toThrow(NEWER);
  });

  it('a version does not migrate below migrations that it does not know', async () => {
    await migrateUp(knex, NEXT);
    await knex('knex_migrations').where({ name: SCHEMA.needed }).del();
    await expect(migrateUp(knex)).rejects.toThrow(`(${EXPAND.name}). Use that version.`);
  });

  it('the status names migrations of newer versions last', async () => {
    await migrateUp(knex, CONTRACTED);
    const states = (await migrationStatus(knex)).map(({ name, state }) => `${state} ${name}`);
    expect(states).toEqual([
      ...SCHEMA.migrations.map(({ name }) => `applied ${name}`),
      `newer ${EXPAND.name}`,
      `newer ${CONTRACT.name}`,
    ]);
  });

  describe.skipIf(engine === engines[0])('which no start changes', () => {
    it.each([
      ['is pending', undefined],
      ['is under way', 0],
    ])('a version starts while a migration that it does not need %s', async (_state, batch) => {
      const rows = batch === undefined ? [] : [{ name: EXPAND.name, batch, migration_time: new Date() }];
      for (const row of rows) await knex('knex_migrations').insert(row);
      await ensureSchema(knex, database.location, NEXT);
      await expect(knex.schema.hasColumn('routes', 'note')).resolves.toBe(false);
    });

    it('a version whose queries need a pending migration is refused', async () => {
      await expect(ensureSchema(knex, database.location, NEEDING)).rejects.toThrow(OUT_OF_DATE);
    });
  });
});

describe('the migrations of this version', () => {
  const names = SCHEMA.migrations.map(({ name }) => name);

  it('run in the order of their numbers', () => {
    expect([...names].sort()).toEqual(names);
    expect(new Set(names.map((name) => name.slice(0, 4))).size).toBe(names.length);
  });

  it('hold the one that its queries need', () => {
    expect(names).toContain(SCHEMA.needed);
  });
});
