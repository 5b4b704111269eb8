import type { Knex } from 'knex';
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { openDatabase } from '../../src/store/database.js';
import { GaleraDetection, selectInSync } from '../../src/store/galera.js';
import { engines } from '../support/engines.js';
import { describeOn } from '../support/needs.js';
import {
  type KnexRouteStore,
  type ObservedStatement,
  type OpenedStore,
  openStore,
} from '../support/open-store.js';
import { entryOf } from '../support/store-entries.js';

// The tests on a cluster itself are in ../cluster/galera.test.ts.
describeOn(engines.slice(1))('on $name', (engine) => {
  let database: OpenedStore;
  let knex: Knex;
  let statements: ObservedStatement[];
  let queries: string[];
  let during: () => void;

  beforeAll(async () => {
    database = await openStore(engine);
    ({ knex } = database);
    knex.on('query', ({ sql }: { sql: string }) => queries.push(sql));
  });

  beforeEach(() => {
    statements = [];
    queries = [];
    during = () => undefined;
  });

  afterAll(() => database.close());

  function storeWith(galera: { on: boolean }, replicas: readonly Knex[] = []): KnexRouteStore {
    const observer = {
      begin: (statement: ObservedStatement) => {
        statements.push(statement);
        during();
        return () => undefined;
      },
    };
    return database.storeWith({ galera, replicas, observers: [observer] });
  }

  it('no node of Galera is seen, so a get is asked once', async () => {
    const galera = new GaleraDetection();
    const own = openDatabase(database.location, 0, undefined, galera);
    onTestFinished(() => own.destroy());
    await own.raw('select 1');
    expect(galera.on).toBe(false);
    await expect(storeWith(galera).find(entryOf().route.id)).resolves.toBeUndefined();
    expect(statements).toMatchObject([{ server: 'primary', fallback: false }]);
  });

  describe('as if it were a node of Galera', () => {
    it('a get that finds its route is asked once, and waits for nothing', async () => {
      const store = storeWith({ on: true });
      const entry = entryOf();
      await store.insert(entry, 'allow');
      queries = [];
      await expect(store.find(entry.route.id)).resolves.toEqual(entry.route);
      expect(queries).toEqual([expect.not.stringContaining('wsrep')]);
    });

    it('a get that finds nothing is asked again, and then waits for what is acknowledged', async () => {
      await expect(storeWith({ on: true }).find(entryOf().route.id)).resolves.toBeUndefined();
      expect(statements).toMatchObject([{ fallback: false }, { fallback: true }]);
      expect(queries).toEqual([
        expect.not.stringContaining('wsrep'),
        expect.stringContaining('wsrep_sync_wait = 1'),
      ]);
    });

    it('a get that a replica could not answer waits, too', async () => {
      const store = storeWith({ on: true }, [knex]);
      await store.replicas.check();
      queries = [];
      const entry = entryOf();
      await store.insert(entry, 'allow');
      await expect(store.find(entryOf().route.id)).resolves.toBeUndefined();
      expect(statements.slice(1)).toMatchObject([
        { server: 'replica', fallback: false },
        { server: 'primary', fallback: true },
      ]);
      expect(queries.at(-1)).toContain('wsrep_sync_wait = 1');
    });

    it('a get that nobody waits for any more is not asked again', async () => {
      const caller = new AbortController();
      during = () => {
        caller.abort();
      };
      const found = storeWith({ on: true }).find(entryOf().route.id, caller.signal);
      await expect(found).rejects.toMatchObject({ name: 'NotSent' });
      expect(statements).toHaveLength(1);
    });
  });

  it('the statement that waits is one that every server understands', async () => {
    const [rows] = await knex.raw<[{ one: number }[]]>(selectInSync('1 as one'));
    expect(rows).toEqual([{ one: 1 }]);
  });

  it.runIf(engine.name.startsWith('MariaDB'))('it waits by a setting for itself alone', async () => {
    const waits = 'cast(@@wsrep_sync_wait as unsigned) as waits';
    await expect(knex.raw(selectInSync(waits))).resolves.toMatchObject([[{ waits: 1 }], {}]);
    await expect(knex.raw(`select ${waits}`)).resolves.toMatchObject([[{ waits: 0 }], {}]);
  });
});
