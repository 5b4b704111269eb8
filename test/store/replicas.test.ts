import { afterAll, beforeAll, beforeEach, expect, it, onTestFinished } from 'vitest';
import { engines } from '../support/engines.js';
import { freePort } from '../support/free-port.js';
import { uuidAt } from '../support/ids.js';
import { startMysqlFaultFront } from '../support/mysql-fault-front.js';
import { describeOn } from '../support/needs.js';
import type { KnexRouteStore, ObservedStatement, ReplicaChange } from '../support/open-store.js';
import { createReplicatedDatabase, type ReplicatedDatabase } from '../support/replicated-database.js';
import { entryOf } from '../support/store-entries.js';

const LATE_MIN = 16;
const AWAITED_MAX = 64;
/** How long a replica may take to answer a get, in milliseconds. */
const REPLICA_LIMIT_MS = 200;

describeOn(engines.slice(1))('replicas on $name', (engine) => {
  let database: ReplicatedDatabase;

  beforeAll(async () => {
    database = await createReplicatedDatabase(engine);
  });

  beforeEach(async () => {
    await database.primary.knex('routes').del();
    await database.replica.knex('routes').del();
  });

  afterAll(() => database.drop());

  interface Opened {
    readonly store: KnexRouteStore;
    /** The statements of gets, as `replica`, `primary` or `primary, again`. */
    readonly asked: string[];
    readonly statements: ObservedStatement[];
    readonly changes: ReplicaChange[];
    /** Called when a statement is sent; what it returns is called when that one has ended. */
    readonly during: { statement: (statement: ObservedStatement) => () => void };
  }

  /**
   * A store with its replicas checked once.
   *
   * @param portsOf the ports at which the replica is reached, by its own one; default: that one
   */
  async function opened(
    portsOf: (port: number) => Promise<readonly number[]> = (port) => Promise.resolve([port]),
  ): Promise<Opened> {
    const ports = await portsOf(database.replica.port);
    const replicas = ports.map((port) => database.replica.connect(port));
    const statements: ObservedStatement[] = [];
    const asked: string[] = [];
    const changes: ReplicaChange[] = [];
    const during: Opened['during'] = { statement: () => () => undefined };
    const store = database.primary.storeWith({
      replicas,
      replicaLimitMs: REPLICA_LIMIT_MS,
      onReplicaChange: (change) => changes.push(change),
      observers: [
        {
          begin: (statement) => {
            statements.push(statement);
            if (statement.operation === 'SELECT')
              asked.push(`${statement.server}${statement.fallback ? ', again' : ''}`);
            return during.statement(statement);
          },
        },
      ],
    });
    await store.replicas.check();
    return { store, asked, statements, changes, during };
  }

  it('answer gets of the routes that they have, in turn', async () => {
    const { store, asked } = await opened((port) => Promise.resolve([port, port]));
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
    const { store, statements } = await opened();
    const first = entryOf({ path: '/first/:id' }, { idempotencyKey: 'key' });
    await store.insert(first, 'reject');
    const repeat = entryOf({ path: '/first/:id' }, { idempotencyKey: 'key' });
    await expect(store.insert(repeat, 'reject')).resolves.toEqual({
      outcome: 'repeated',
      route: first.route,
    });
    await expect(store.insert(entryOf({ path: '/first/:key' }), 'reject')).resolves.toEqual({
      outcome: 'duplicate',
      id: first.route.id,
    });
    await expect(store.findByIdempotencyKey('me', 'key')).resolves.toEqual(first.route);
    await expect(store.findByShape(first.shape)).resolves.toBe(first.route.id);
    expect(new Set(statements.map(({ server }) => server))).toEqual(new Set(['primary']));
    await expect(database.replica.knex('routes').count({ rows: '*' })).resolves.toEqual([{ rows: 0 }]);
  });

  it('are not asked before their first check', () => {
    const store = database.primary.storeWith({ replicas: [database.replica.knex] });
    expect(store.replicas.next()).toBeUndefined();
  });

  it('that fail are left out until a check succeeds, and no get fails', async () => {
    let failing = false;
    const { store, asked, changes } = await opened(async (port) => [
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

  it('that are silent are given up when their time is over, and so are the gets that wait for them', async () => {
    let silent = false;
    const { store, asked } = await opened(async (port) => [
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
    const { store } = await opened();
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
    const { store, asked } = await opened(() => Promise.all([freePort(), freePort()]));
    const entry = entryOf();
    await expect(store.ping()).resolves.toBeUndefined();
    await store.insert(entry, 'allow');
    await expect(store.find(entry.route.id)).resolves.toEqual(entry.route);
    expect(asked).toEqual(['primary']);
  });

  it('of which one is away leave the gets to the others', async () => {
    const { store, asked } = await opened(async (port) => [await freePort(), port]);
    const entry = entryOf();
    await store.insert(entry, 'allow');
    await database.replicate();
    for (let i = 0; i < 3; i++) await store.find(entry.route.id);
    expect(asked).toEqual(['replica', 'replica', 'replica']);
  });

  it('that lag are left out until they have what came too late', async () => {
    const { store, changes } = await opened();
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
    const { store } = await opened();
    // Gets that wait for one another are missed together, even beyond the first sixteen.
    const entries = Array.from({ length: AWAITED_MAX + 1 }, () => entryOf());
    for (const entry of entries) await store.insert(entry, 'allow');
    await Promise.all(entries.map(({ route }) => store.find(route.id)));
    expect(store.replicas.next()).toBeUndefined();
    await database.replicate();
    const [oldest, second] = entries.map(({ route }) => route.path);
    await database.replica.knex('routes').where({ path: second }).delete();
    await store.replicas.check();
    expect(store.replicas.next()).toBeUndefined();
    await database.replicate();
    await database.replica.knex('routes').where({ path: oldest }).delete();
    await store.replicas.check();
    expect(store.replicas.next()).toBeDefined();
  });

  it('that have more routes in time than too late do not lag, nor do those of few gets', async () => {
    const { store } = await opened();
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

  it('keep unknown ids from flooding the primary, which is asked for many in one statement at a time', async () => {
    const { store, asked, during } = await opened();
    const fresh = entryOf();
    await store.insert(fresh, 'allow');
    let underWay = 0;
    let most = 0;
    during.statement = ({ fallback }) => {
      const own = Number(fallback);
      underWay += own;
      most = Math.max(most, underWay);
      return () => {
        underWay -= own;
      };
    };
    const unknown = Array.from({ length: 512 }, () => entryOf().route.id);
    const found = await Promise.all([...unknown, fresh.route.id].map((id) => store.find(id)));
    expect(found).toEqual([...unknown.map(() => undefined), fresh.route]);
    expect(new Set(asked)).toEqual(new Set(['replica', 'primary, again']));
    expect(most).toBe(1);
  });

  it('do not make a route unknown when the primary cannot be asked', async () => {
    const { store } = await opened();
    await database.primary.knex.schema.renameTable('routes', 'elsewhere');
    onTestFinished(async () => {
      await database.primary.knex.schema.renameTable('elsewhere', 'routes');
    });
    await expect(store.find(entryOf().route.id)).rejects.toThrow('ER_NO_SUCH_TABLE');
  });

  it('are not asked for calls that have ended, and the primary is not asked again for those', async () => {
    const { store, asked, during } = await opened();
    const ended = AbortSignal.abort();
    await expect(store.find(entryOf().route.id, ended)).rejects.toMatchObject({ name: 'NotSent' });
    const caller = new AbortController();
    during.statement = () => {
      caller.abort();
      return () => undefined;
    };
    const found = store.find(entryOf().route.id, caller.signal);
    await expect(found).rejects.toMatchObject({ name: 'NotSent' });
    expect(asked).toEqual(['replica']);
    expect(store.replicas.next()).toBeDefined();
  });
});
