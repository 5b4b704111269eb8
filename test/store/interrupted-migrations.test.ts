import type { Knex } from 'knex';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { readDatabase } from '../../src/settings/config.js';
import { openDatabase } from '../../src/store/database.js';
import { KnexRouteStore } from '../../src/store/knex-route-store.js';
import { migrateDown, migrateUp, migrationStatus } from '../../src/store/migrations.js';
import { type Database, engines } from '../support/engines.js';
import { describeOn } from '../support/needs.js';
import { entryOf } from '../support/store-entries.js';
import { startTcpProxy, throughPort } from '../support/tcp-proxy.js';

const STATES = [
  { name: '0001-routes', state: 'applied' },
  { name: '0002-shapes-as-text', state: 'applied' },
];

describeOn(engines.slice(1))(
  'a migration on $name that loses its connection, at any statement,',
  (engine) => {
    let database: Database;
    let knex: Knex;

    beforeEach(async () => {
      database = await engine.createDatabase();
      knex = openDatabase(readDatabase({ DATABASE_URL: database.url }));
      await migrateUp(knex);
    });

    afterEach(async () => {
      await knex.destroy();
      await database.drop();
    });

    /** Migrates over a connection that is cut once it has sent so many statements. Resolves with whether it was. */
    async function cutAt(statement: number, migrate: (knex: Knex) => Promise<unknown>): Promise<boolean> {
      const proxy = await startTcpProxy(Number(new URL(database.url).port));
      const cut = openDatabase(readDatabase({ DATABASE_URL: throughPort(database.url, proxy.port) }));
      let closed: Promise<void> | undefined;
      let sent = 0;
      cut.on('query', () => {
        if (++sent !== statement) return;
        setImmediate(() => {
          closed = proxy.close();
        });
      });
      const failed = await migrate(cut).then(
        () => false,
        () => true,
      );
      expect(failed).toBe(closed !== undefined);
      await proxy.close();
      await cut.destroy();
      return failed;
    }

    /** The definition of the table without its engine's counters, and its content. */
    async function everything(): Promise<unknown> {
      const [definition] = (await knex.raw('show create table routes')) as unknown[];
      return { definition, rows: await knex('routes').orderBy('id').select('id', 'shape') };
    }

    it('is completed by the next one', async () => {
      const complete = await everything();
      let statement = 0;
      do {
        await knex.schema.dropTableIfExists('routes').dropTableIfExists('knex_migrations');
        statement++;
      } while (await cutAt(statement, migrateUp).then((cut) => recover(cut, complete)));
      expect(statement).toBeGreaterThan(15);
    });

    it('and was to roll back, is taken back by migrating up', async () => {
      const store = new KnexRouteStore(knex);
      await Promise.all(['/a', '/b', '/c'].map((path) => store.insert(entryOf({ path }), 'allow')));
      const complete = await everything();
      let statement = 1;
      while (await cutAt(statement, migrateDown).then((cut) => recover(cut, complete))) statement++;
      expect(statement).toBeGreaterThan(8);
    });

    async function recover(cut: boolean, complete: unknown): Promise<boolean> {
      await migrateUp(knex);
      await expect(migrationStatus(knex)).resolves.toEqual(STATES);
      await expect(everything()).resolves.toEqual(complete);
      return cut;
    }

    it('and was to roll back, rolls back when it runs again, and no earlier one with it', async () => {
      await expect(cutAt(8, migrateDown)).resolves.toBe(true);
      await expect(migrationStatus(knex)).resolves.toMatchObject([
        { state: 'applied' },
        { state: 'interrupted' },
      ]);
      await expect(migrateDown(knex)).resolves.toEqual(['0002-shapes-as-text']);
      await expect(migrationStatus(knex)).resolves.toMatchObject([
        { state: 'applied' },
        { state: 'pending' },
      ]);
    });

    it('and has dropped its table, rolls back when it runs again', async () => {
      await migrateDown(knex);
      await knex('knex_migrations').update({ batch: 0 });
      await knex.schema.dropTable('routes');
      await expect(migrateDown(knex)).resolves.toEqual(['0001-routes']);
      await expect(migrateUp(knex)).resolves.toEqual(STATES.map(({ name }) => name));
    });
  },
);
