import { expect, it, onTestFinished } from 'vitest';
import { readDatabase } from '../../src/settings/config.js';
import { openDatabase } from '../../src/store/database.js';
import { KnexRouteStore } from '../../src/store/knex-route-store.js';
import type { ReplicaChange } from '../../src/store/replica.js';
import { encodeId } from '../../src/store/route-row.js';
import type { ObservedStatement } from '../../src/store/statement-observer.js';
import { engines } from '../support/engines.js';
import { freePort } from '../support/free-port.js';
import { uuidAt } from '../support/ids.js';
import { startMysqlFaultFront } from '../support/mysql-fault-front.js';
import { describeOn } from '../support/needs.js';
import { createReplicatedDatabase, type ReplicatedDatabase } from '../support/replicated-database.js';
import { entryOf } from '../support/store-entries.js';
import { throughPort } from '../support/tcp-proxy.js';

const LATE_MIN = 16;
const AWAITED_MAX = 64;

describeOn(engines.slice(1))('replicas on $name', (engine) => {
  interface Opened {
    readonly database: ReplicatedDatabase;
    readonly store: KnexRouteStore;
    /** The statements of gets, as `replica`, `primary` or `primary, again`. */
    readonly asked: string[];
    readonly statements: ObservedStatement[];
    readonly changes: ReplicaChange[];
    /** Called when a statement is sent. */
    readonly during: { statement: () => void };
  }

  /**
   * A store with its replicas checked once.
   *
   * @param portsOf the ports at which the replica is reached, by its own one; default: that one
   */
  async function opened(
    portsOf: (port: number) => Promise<readonly number[]> = (port) => Promise.resolve([port]),
  ): Promise<Opened> {
    const database = await createReplicatedDatabase(engine);
    const { url } = database.replica;
    const ports = await portsOf(Number(new URL(url).port));
    const replicas = ports.map((port) =>
      openDatabase(readDatabase({ DATABASE_URL: throughPort(url, port) })),
    );
    onTestFinished(async () => {
      for (const replica of replicas) await replica.destroy();
      await database.drop();
    });
    const statements: ObservedStatement[] = [];
    const asked: string[] = [];
    const changes: ReplicaChange[] = [];
    const during = { statement: (): void => undefined };
    const store = new KnexRouteStore(database.primary.knex, {
      replicas,
      onReplicaChange: (change) => changes.push(change),
      observers: [
        {
          begin: (statement) => {
            statements.push(statement);
            during.statement();
            if (statement.operation === 'SELECT')
              asked.push(`${statement.server}${statement.fallback ? ', again' : ''}`);
            return () => undefined;
          },
        },
      ],
    });
    await store.replicas.check();
    return { database, store, asked, statements, changes, during };
  }

  it('answer gets of the routes that they have, in turn', async () => {
    const { database, store, asked } = await opened((port) => Promise.resolve([port, port]));
    const entry = entryOf();
    await store.insert(entry, 'allow');
    await database.replicate();
    const queries: string[] = [];
    database.primary.knex.on('query', ({ sql }: { sql: string }) => queries.push(sql));
    for (let i = 0; i < 4; i++) await expect(store.find(entry.route.id)).resolves.toEqual(entry.route);
    expect(asked).toEqual(['replica', 'replica', 'replica', 'replica']);
    expect(queries).toEqual([]);
    const turns = Array.from({ length: 4 }, () => store.replicas.next());
    expect(turns[0]).not.toBe(turns[1]);
    expect(turns.slice(2)).toEqual(turns.slice(0, 2));
  });

  it.each([
    ['was just created', Date.now()],
    ['has an id of an hour ago, by the clock of its instance', Date.now() - 3_600_000],
    ['has an id of tomorrow', Date.now() + 86_400_000],
  ])('need not have a route that %s: it is found', async (_, time) => {
    const { store, asked } = await opened();
    const entry = entryOf({ id: uuidAt(time) });
    await store.insert(entry, 'allow');
    await expect(store.find(entry.route.id)).resolves.toEqual(entry.route);
    expect(asked).toEqual(['replica', 'primary, again']);
  });

  it('leave request ids, duplicates and creates to the primary', async () => {
    const { database, store, statements } = await opened();
    const first = entryOf({ path: '/first/:id' }, { requestId: 'key' });
    await store.insert(first, 'reject');
    const repeat = entryOf({ path: '/first/:id' }, { requestId: 'key' });
    await expect(store.insert(repeat, 'reject')).resolves.toEqual({
      outcome: 'repeated',
      route: first.route,
    });
    await expect(store.insert(entryOf({ path: '/first/:key' }), 'reject')).resolves.toEqual({
      outcome: 'duplicate',
      id: first.route.id,
    });
    await expect(store.findByRequestId('me', 'key')).resolves.toEqual(first.route);
    await expect(store.findByShape(first.shape)).resolves.toBe(first.route.id);
    expect(new Set(statements.map(({ server }) => server))).toEqual(new Set(['primary']));
    await expect(database.replica.knex('routes').count({ rows: '*' })).resolves.toEqual([{ rows: 0 }]);
  });

  it('are not asked before their first check', async () => {
    const database = await createReplicatedDatabase(engine);
    onTestFinished(() => database.drop());
    const store = new KnexRouteStore(database.primary.knex, { replicas: [database.replica.knex] });
    expect(store.replicas.next()).toBeUndefined();
  });

  it('that fail are left out until a check succeeds, and no get fails', async () => {
    let failing = false;
    const { database, store, asked, changes } = await opened(async (port) => [
      (await startMysqlFaultFront(port, () => (failing ? { done: false, answer: 1047 } : undefined))).port,
    ]);
    const entry = entryOf();
    await store.insert(entry, 'allow');
    await database.replicate();
    failing = true;
    await expect(store.find(entry.route.id)).resolves.toEqual(entry.route);
    await expect(store.find(entry.route.id)).resolves.toEqual(entry.route);
    expect(asked).toEqual(['replica', 'primary, again', 'primary']);
    await store.replicas.check();
    expect(store.replicas.next()).toBeUndefined();
    failing = false;
    await store.replicas.check();
    await store.find(entry.route.id);
    expect(asked.slice(3)).toEqual(['replica']);
    expect(changes).toMatchObject([
      { replica: 1, serving: true },
      { replica: 1, serving: false, cause: { reason: 'STORE_UNAVAILABLE' } },
      { replica: 1, serving: true },
    ]);
  });

  it('that are silent are given up after a second, and so are the gets that wait for them', async () => {
    let silent = false;
    const { database, store, asked } = await opened(async (port) => [
      (await startMysqlFaultFront(port, () => (silent ? { done: false, answer: 'silence' } : undefined)))
        .port,
    ]);
    const entries = Array.from({ length: 300 }, () => entryOf());
    await Promise.all(entries.map((entry) => store.insert(entry, 'allow')));
    await database.replicate();
    silent = true;
    const found = await Promise.all(entries.map(({ route }) => store.find(route.id)));
    expect(found).toEqual(entries.map(({ route }) => route));
    // More than four statements would be needed for all of them.
    expect(asked.filter((server) => server === 'replica')).toHaveLength(4);
    expect(store.replicas.next()).toBeUndefined();
  });

  it('that fail during a check are left out until the next one', async () => {
    const { database, store } = await opened();
    const entry = entryOf();
    await store.insert(entry, 'allow');
    const lock = await database.replica.knex.transaction();
    await lock.raw('lock tables routes write');
    const checked = store.replicas.check();
    await expect(store.find(entry.route.id)).resolves.toEqual(entry.route);
    await lock.raw('unlock tables');
    await lock.rollback();
    await checked;
    expect(store.replicas.next()).toBeUndefined();
    await store.replicas.check();
    await database.replicate();
    await store.replicas.check();
    expect(store.replicas.next()).toBeDefined();
  });

  it('that are all away change nothing but where gets go', async () => {
    const { store, asked } = await opened(async () => [await freePort(), await freePort()]);
    const entry = entryOf();
    await expect(store.ping()).resolves.toBeUndefined();
    await store.insert(entry, 'allow');
    await expect(store.find(entry.route.id)).resolves.toEqual(entry.route);
    expect(asked).toEqual(['primary']);
  });

  it('of which one is away leave the gets to the others', async () => {
    const { database, store, asked } = await opened(async (port) => [await freePort(), port]);
    const entry = entryOf();
    await store.insert(entry, 'allow');
    await database.replicate();
    for (let i = 0; i < 3; i++) await store.find(entry.route.id);
    expect(asked).toEqual(['replica', 'replica', 'replica']);
  });

  it('that lag are left out until they have what came too late', async () => {
    const { database, store, changes } = await opened();
    const entries = Array.from({ length: LATE_MIN / 2 }, () => entryOf());
    for (const entry of entries) await store.insert(entry, 'allow');
    // Each is asked for twice at once.
    const find = ({ route }: (typeof entries)[number]): Promise<unknown> =>
      Promise.all([store.find(route.id), store.find(route.id)]);
    for (const entry of entries.slice(1)) await find(entry);
    expect(store.replicas.next()).toBeDefined();
    for (const entry of entries.slice(0, 1)) await find(entry);
    expect(store.replicas.next()).toBeUndefined();
    expect(changes.at(-1)).toEqual({
      replica: 1,
      serving: false,
      cause: new Error('It lags: it had 0 routes in time and 16 too late.'),
    });
    await store.replicas.check();
    expect(store.replicas.next()).toBeUndefined();
    await database.replicate();
    await store.replicas.check();
    expect(store.replicas.next()).toBeDefined();
  });

  it('that lag need only the latest 64 of what came too late', async () => {
    const { database, store } = await opened();
    // Gets that wait for one another are missed together, even beyond the first sixteen.
    const entries = Array.from({ length: AWAITED_MAX + 1 }, () => entryOf());
    for (const entry of entries) await store.insert(entry, 'allow');
    await Promise.all(entries.map(({ route }) => store.find(route.id)));
    expect(store.replicas.next()).toBeUndefined();
    await database.replicate();
    const [oldest, second] = entries.map(({ route }) => encodeId(route.id));
    await database.replica.knex('routes').where({ id: second }).delete();
    await store.replicas.check();
    expect(store.replicas.next()).toBeUndefined();
    await database.replicate();
    await database.replica.knex('routes').where({ id: oldest }).delete();
    await store.replicas.check();
    expect(store.replicas.next()).toBeDefined();
  });

  it('that have more routes in time than too late do not lag, nor do those of few gets', async () => {
    const { database, store } = await opened();
    const early = entryOf();
    await store.insert(early, 'allow');
    await database.replicate();
    for (let i = 0; i < 2 * LATE_MIN; i++) {
      const fresh = entryOf();
      await store.insert(fresh, 'allow');
      await store.find(early.route.id);
      await store.find(fresh.route.id);
    }
    expect(store.replicas.next()).toBeDefined();
    await store.replicas.check();
    for (let i = 0; i < LATE_MIN - 1; i++) {
      const fresh = entryOf();
      await store.insert(fresh, 'allow');
      await store.find(fresh.route.id);
    }
    expect(store.replicas.next()).toBeDefined();
  });

  it('keep unknown ids from flooding the primary, which goes on finding fresh routes', async () => {
    const { store, statements } = await opened();
    const begun = performance.now();
    const again = (): number => statements.filter(({ fallback }) => fallback).length;
    const fresh = entryOf();
    await store.insert(fresh, 'allow');
    let unknown = 0;
    const flooding = Array.from({ length: 512 }, async () => {
      while (performance.now() - begun < 1_000) {
        await expect(store.find(entryOf().route.id)).resolves.toBeUndefined();
        unknown++;
      }
    });
    await expect(store.find(fresh.route.id)).resolves.toEqual(fresh.route);
    await Promise.all(flooding);
    const seconds = (performance.now() - begun) / 1_000;
    expect(unknown).toBeGreaterThan(0);
    // A timer may be a millisecond early.
    expect(again()).toBeLessThanOrEqual(1 + seconds * (1_000 / 9));
    expect(
      statements.filter(({ server, operation }) => server === 'primary' && operation === 'SELECT'),
    ).toHaveLength(again());
  });

  it('do not make a route unknown when the primary cannot be asked', async () => {
    const { database, store } = await opened();
    await database.primary.knex.schema.dropTable('routes');
    await expect(store.find(entryOf().route.id)).rejects.toThrow('ER_NO_SUCH_TABLE');
  });

  it('are not asked for calls that have ended, and the primary is not asked again for those', async () => {
    const { store, asked, during } = await opened();
    const ended = AbortSignal.abort();
    await expect(store.find(entryOf().route.id, ended)).rejects.toMatchObject({ name: 'NotSent' });
    const caller = new AbortController();
    during.statement = () => {
      caller.abort();
    };
    const found = store.find(entryOf().route.id, caller.signal);
    await expect(found).rejects.toMatchObject({ name: 'NotSent' });
    expect(asked).toEqual(['replica']);
    expect(store.replicas.next()).toBeDefined();
  });
});
