import type { Knex } from 'knex';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { migrateUp } from '../../src/store/migrations.js';
import { engines } from '../support/engines.js';
import { NEXT } from '../support/later-schemas.js';
import { describeOn } from '../support/needs.js';
import { type OpenedStore, openStore } from '../support/open-store.js';
import { entryOf } from '../support/store-entries.js';
import { startTcpProxy } from '../support/tcp-proxy.js';

const ENTRY = entryOf();

/** Each test migrates some thirty times, which takes a busy server longer than other tests. */
const TIME_LIMIT_MS = 180_000;

describeOn(engines.slice(1))('a migration on $name that loses its connection at any statement', (engine) => {
  let database: OpenedStore;
  let knex: Knex;

  beforeEach(async () => {
    database = await openStore(engine);
    ({ knex } = database);
  });

  afterEach(() => database.close());

  /** Migrates over a connection that is cut after this many statements. Resolves with whether it was cut. */
  async function cutAt(statement: number, migrate: (knex: Knex) => Promise<unknown>): Promise<boolean> {
    const proxy = await startTcpProxy(database.port);
    const cut = database.connect(proxy.port);
    let closed: Promise<void> | undefined;
    let sent = 0;
    cut.on('query', () => {
      if (++sent !== statement) return;
      setImmediate(() => {
        closed = proxy.close();
      });
    });
    const failure = await migrate(cut).then(
      () => 'none',
      (error: unknown) => String(error),
    );
    const failed = failure !== 'none';
    expect(failed).toBe(closed !== undefined);
    // The cause, not that of the rollback which follows it.
    expect(failure).not.toMatch(/ROLLBACK/);
    await proxy.close();
    await cut.destroy();
    return failed;
  }

  /** The definition of the table, its content, and the migrations that have run. */
  async function everything(): Promise<unknown> {
    const [definition] = (await knex.raw('show create table routes')) as unknown[];
    const names = await knex('route_registry_migrations').orderBy('id').pluck('name');
    return { definition, names, rows: await knex('routes').orderBy('id').select() };
  }

  async function dropAll(): Promise<void> {
    for (const table of ['routes', 'route_registry_migrations', 'route_registry_migrations_lock'])
      await knex.schema.dropTableIfExists(table);
  }

  /** As of this version, with a route. */
  async function dropLater(): Promise<void> {
    await dropAll();
    await migrateUp(knex);
    await database.store.insert(ENTRY);
  }

  it.each([
    ['from nothing', 20, dropAll],
    ['from this version to the next one', 12, dropLater],
  ] as const)('%s is completed by the next run', { timeout: TIME_LIMIT_MS }, async (_, least, begin) => {
    const migrate = (through: Knex): Promise<string[]> => migrateUp(through, NEXT);
    await begin();
    await migrate(knex);
    const expected = await everything();
    const cutInMiddle = async (statement: number): Promise<boolean> => {
      await begin();
      const cut = await cutAt(statement, migrate);
      await migrate(knex);
      await expect(everything()).resolves.toEqual(expected);
      return cut;
    };
    let statement = 1;
    while (await cutInMiddle(statement)) statement++;
    expect(statement).toBeGreaterThan(least);
  });
});
