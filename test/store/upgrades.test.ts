import type { Knex } from 'knex';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { ensureSchema, migrateUp, MIGRATIONS, migrationStatus } from '../../src/store/migrations.js';
import { engines } from '../support/engines.js';
import { NEXT } from '../support/later-schemas.js';
import { describeOn } from '../support/needs.js';
import { type KnexRouteStore, type OpenedStore, openStore } from '../support/open-store.js';
import { entryOf } from '../support/store-entries.js';

/** Creates a route and gets it again. */
async function use(store: KnexRouteStore): Promise<void> {
  const entry = entryOf();
  await expect(store.insert(entry)).resolves.toEqual({ outcome: 'inserted' });
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

  it('this version starts and works on the schema of the next version, and has nothing to migrate there', async () => {
    await migrateUp(knex, NEXT);
    await expect(ensureSchema(knex)).resolves.toBe(NEXT.length);
    await expect(migrateUp(knex)).resolves.toEqual([]);
    await expect(migrationStatus(knex)).resolves.toEqual({
      applied: NEXT.map(({ name }) => name),
      pending: [],
    });
    await use(database.store);
  });

  it('calls to this version succeed while the next version migrates', async () => {
    const { store } = database;
    const other = database.connect();
    const migrated = new AbortController();
    const migrating = migrateUp(other, NEXT).finally(() => {
      migrated.abort();
    });
    let calls = 0;
    for (; !migrated.signal.aborted; calls++) await use(store);
    await migrating;
    expect(calls).toBeGreaterThan(0);
  });
});

it('the migrations run in the order of their unique numbers', () => {
  const names = MIGRATIONS.map(({ name }) => name);
  expect([...names].sort()).toEqual(names);
  expect(new Set(names.map((name) => name.slice(0, 4))).size).toBe(names.length);
});
