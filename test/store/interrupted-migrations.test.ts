import type { Knex } from 'knex';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { migrateDown, migrateUp, migrationStatus, SCHEMA } from '../../src/store/migrations.js';
import { engines } from '../support/engines.js';
import { describeOn } from '../support/needs.js';
import { type OpenedStore, openStore } from '../support/open-store.js';
import { entryOf } from '../support/store-entries.js';
import { startTcpProxy } from '../support/tcp-proxy.js';

const NAMES = SCHEMA.migrations.map(({ name }) => name);
const [FIRST = '', ...LATER] = NAMES;

/** All but the newest are applied. */
function stateWith(newest: string): unknown {
  return NAMES.map((name, i) => ({ name, state: i < NAMES.length - 1 ? 'applied' : newest }));
}

describeOn(engines.slice(1))(
  'a migration on $name that loses its connection, at any statement,',
  (engine) => {
    let database: OpenedStore;
    let knex: Knex;

    beforeEach(async () => {
      database = await openStore(engine);
      ({ knex } = database);
    });

    afterEach(() => database.close());

    /** Migrates over a connection that is cut once it has sent so many statements. Resolves with whether it was. */
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
      await Promise.all(['/a', '/b', '/c'].map((path) => database.store.insert(entryOf({ path }), 'allow')));
      const complete = await everything();
      let statement = 1;
      while (await cutAt(statement, migrateDown).then((cut) => recover(cut, complete))) statement++;
      expect(statement).toBeGreaterThan(8);
    });

    async function recover(cut: boolean, complete: unknown): Promise<boolean> {
      await migrateUp(knex);
      await expect(migrationStatus(knex)).resolves.toEqual(stateWith('applied'));
      await expect(everything()).resolves.toEqual(complete);
      return cut;
    }

    it('and was to roll back, rolls back when it runs again, and no earlier one with it', async () => {
      await expect(cutAt(8, migrateDown)).resolves.toBe(true);
      await expect(migrationStatus(knex)).resolves.toEqual(stateWith('interrupted'));
      await expect(migrateDown(knex)).resolves.toEqual(NAMES.slice(-1));
      await expect(migrationStatus(knex)).resolves.toEqual(stateWith('pending'));
    });

    it('and has dropped its table, rolls back when it runs again', async () => {
      for (const name of LATER.toReversed()) await expect(migrateDown(knex)).resolves.toEqual([name]);
      await knex('knex_migrations').update({ batch: 0 });
      await knex.schema.dropTable('routes');
      await expect(migrateDown(knex)).resolves.toEqual([FIRST]);
      await expect(migrateUp(knex)).resolves.toEqual(NAMES);
    });
  },
);
