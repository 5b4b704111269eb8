import type { Knex } from 'knex';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type Migration, migrateUp } from '../../src/store/migrations.js';
import { engines } from '../support/engines.js';
import { NEXT } from '../support/later-schemas.js';
import { describeOn } from '../support/needs.js';
import { type OpenedDatabase, openEmpty } from '../support/open-store.js';
import { startTcpProxy } from '../support/tcp-proxy.js';

/** A route by the columns that every schema has. */
const ROW = { method: 'GET', path: '/', middleware: '[]', handler: 'h', created_at_ms: 0, caller: 'me' };

/** Each test migrates some thirty times, which takes a busy server longer than other tests. */
const TIME_LIMIT_MS = 180_000;

describeOn(engines.slice(1))('a migration on $name that loses its connection at any statement', (engine) => {
  let database: OpenedDatabase;
  let knex: Knex;

  beforeEach(async () => {
    database = await openEmpty(engine);
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
    const failure = await migrate(cut).then(() => '', String);
    const failed = failure !== '';
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

  /** Begins anew with what these migrations make, and a route that was stored after each of them. */
  async function begin(earlier: readonly Migration[]): Promise<void> {
    for (const table of ['routes', 'route_registry_migrations', 'route_registry_migrations_lock'])
      await knex.schema.dropTableIfExists(table);
    for (const [i] of earlier.entries()) {
      await migrateUp(knex, earlier.slice(0, i + 1));
      await knex('routes').insert({ ...ROW, id: Buffer.alloc(16, i) });
    }
  }

  it.each(NEXT.map((_, made) => [NEXT[made - 1]?.name ?? 'nothing', NEXT.slice(0, made)] as const))(
    'from %s is completed by the next run',
    { timeout: TIME_LIMIT_MS },
    async (_name, earlier) => {
      const migrate = (through: Knex): Promise<string[]> => migrateUp(through, NEXT);
      await begin(earlier);
      await migrate(knex);
      const expected = await everything();
      const cutInMiddle = async (statement: number): Promise<boolean> => {
        await begin(earlier);
        const cut = await cutAt(statement, migrate);
        await migrate(knex);
        await expect(everything()).resolves.toEqual(expected);
        return cut;
      };
      let statement = 1;
      while (await cutInMiddle(statement)) statement++;
      expect(statement).toBeGreaterThan(12);
    },
  );
});
