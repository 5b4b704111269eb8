import { performance } from 'node:perf_hooks';
import type { Knex } from 'knex';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { parseDatabaseUrl } from '../../src/settings/database-url.js';
import { openForCalls } from '../../src/store/database.js';
import { discard } from '../../src/store/pool.js';
import { engines } from '../support/engines.js';
import {
  type Fault,
  type MysqlFaultFront,
  startMysqlFaultFront,
  type Statement,
} from '../support/mysql-fault-front.js';
import { describeOn } from '../support/needs.js';
import { CALL_TIMES, type KnexRouteStore, type OpenedStore, openStore } from '../support/open-store.js';
import { entryOf } from '../support/store-entries.js';
import { throughPort } from '../support/tcp-proxy.js';

/** What ends a transaction in a way that may leave it open: with its statement executed, and without. */
const FAULTS: readonly (readonly [string, Fault])[] = [true, false].flatMap((done) => {
  const executed = done ? 'executed' : 'not executed';
  return [
    [`is ${executed} and answered with an error`, { done, answer: 1969 }],
    [`is ${executed} and not answered`, { done, answer: 'silence' }],
    [`is ${executed} and its connection lost`, { done }],
  ] as const;
});

/** The calls that read in a transaction. */
const CALLS: readonly (readonly [string, (store: KnexRouteStore) => Promise<unknown>])[] = [
  ['a dry run with a key', (store) => store.findByIdempotencyKey('me', 'key')],
  ['a dry run while duplicates are refused', (store) => store.findDuplicate('GET /a/:')],
  [
    'a refused duplicate with a key',
    (store) => store.insert(entryOf({ path: '/a/:b' }, { idempotencyKey: 'new' })),
  ],
];

/** How long a database may be silent that is about to be, in milliseconds. */
const SILENCE_MS = 1_000;
const CREATES = 5;

/** Creates over few connections, so that all of those that a fault has touched are used again. */
async function createSome(store: KnexRouteStore): Promise<string[]> {
  const ids: string[] = [];
  for (let i = 0; i < CREATES; i++) {
    const entry = entryOf();
    await expect(store.insert(entry)).resolves.toEqual({ outcome: 'inserted' });
    ids.push(entry.route.id);
  }
  return ids;
}

async function expectStored(store: KnexRouteStore, ids: readonly string[]): Promise<void> {
  const found = await Promise.all(ids.map((id) => store.find(id)));
  expect(found.map((route) => route?.id)).toEqual(ids);
}

describeOn(engines.slice(1))('after a fault in a transaction, on $name', (engine) => {
  let database: OpenedStore;

  beforeAll(async () => {
    database = await openStore(engine);
    await database.strict.insert(entryOf({ path: '/a/:id' }, { idempotencyKey: 'key' }));
  });

  afterAll(() => database.close());

  /** Opens a store that meets a fault once, at the first statement that has it after `arm`. */
  async function openBehindFront(
    faultOf: (statement: Statement) => Fault | undefined,
    { answer }: Fault = { done: false },
  ): Promise<{
    readonly store: KnexRouteStore;
    readonly knex: Knex;
    readonly front: MysqlFaultFront;
    /** Whether the fault is still to come. */
    readonly fault: { armed: boolean };
  }> {
    const fault = { armed: false };
    const front = await startMysqlFaultFront(database.port, (statement) => {
      const met = fault.armed ? faultOf(statement) : undefined;
      if (met !== undefined) fault.armed = false;
      return met;
    });
    const knex = openForCalls(parseDatabaseUrl(throughPort(database.url, front.port)), {
      ...CALL_TIMES,
      silenceMs: answer === 'silence' ? SILENCE_MS : CALL_TIMES.silenceMs,
    });
    onTestFinished(() => knex.destroy());
    return { store: database.storeWith({ duplicates: 'reject' }, knex), knex, front, fault };
  }

  describe.each(CALLS)('of %s', (_, call) => {
    it.each(
      (['BEGIN', 'SELECT', 'COMMIT'] as const).flatMap((kind) =>
        // The front hides one packet, and a SELECT that is executed answers several.
        FAULTS.filter(([, { done }]) => done === false || kind !== 'SELECT').map(
          ([name, met]) => [kind, name, met] as const,
        ),
      ),
    )('whose %s %s, no later create is lost', async (kind, _name, met) => {
      const { store, knex, fault } = await openBehindFront(
        (statement) => (statement.kind === kind ? met : undefined),
        met,
      );
      fault.armed = true;
      // On a busy machine, the database may be silent for too long before it meets the fault.
      await expect
        .poll(async () => {
          await call(store).catch(() => undefined);
          return fault.armed;
        })
        .toBe(false);
      const ids = await createSome(store);
      await expectStored(database.store, ids);
      // What an open transaction holds is gone with its connection.
      await knex.destroy();
      await expectStored(database.store, ids);
    });
  });

  it('whose COMMIT fails, the other connections stay in use', async () => {
    const { store, front, fault } = await openBehindFront(({ kind }) =>
      kind === 'COMMIT' ? { done: true, answer: 1969 } : undefined,
    );
    const find = (): Promise<unknown> =>
      Promise.all(Array.from({ length: 3 * 64 }, () => store.find(entryOf().route.id)));
    const connectionsSince = (start: number): Set<number> =>
      new Set(front.statements.slice(start).map(({ connection }) => connection));
    await find();
    const before = connectionsSince(0);
    expect(before.size).toBeGreaterThan(1);
    fault.armed = true;
    await store.findDuplicate('GET /a/:').catch(() => undefined);
    expect(fault.armed).toBe(false);
    const start = front.statements.length;
    await find();
    expect([...connectionsSince(start)].some((connection) => before.has(connection))).toBe(true);
  });
});

describe('while another process writes to the embedded database', () => {
  let database: OpenedStore;
  let other: Knex;

  beforeEach(async () => {
    database = await openStore(engines[0]);
    other = database.connect();
    await database.strict.insert(entryOf({ path: '/a/:id' }, { idempotencyKey: 'key' }));
    await other.raw('BEGIN IMMEDIATE');
  });

  afterEach(() => database.close());

  it('a create waits and a get does not, and the create is stored afterwards', async () => {
    const { store } = database;
    const entry = entryOf();
    const create = store.insert(entry);
    const get = store.find(entry.route.id);
    await expect(Promise.race([create.then(() => 'the create'), get.then(() => 'the get')])).resolves.toBe(
      'the get',
    );
    await other.raw('COMMIT');
    await expect(create).resolves.toEqual({ outcome: 'inserted' });
    await expectStored(database.storeWith({}, other), [entry.route.id]);
  });

  it('a create that waits leaves the process to other calls for most of the time', async () => {
    const before = performance.eventLoopUtilization();
    await expect(database.store.insert(entryOf())).rejects.toMatchObject({ reason: 'STORE_UNAVAILABLE' });
    // The driver blocks the process while it waits for the lock; the pauses between attempts do not.
    const { active, idle } = performance.eventLoopUtilization(before);
    expect(active).toBeLessThan(idle);
  });

  it('creates become unavailable after some attempts, and no later create is lost', async () => {
    const { knex, strict: store, storeWith, connect } = database;
    await expect(store.insert(entryOf())).rejects.toMatchObject({ reason: 'STORE_UNAVAILABLE' });
    await Promise.allSettled(CALLS.map(([, call]) => call(store)));
    await other.raw('COMMIT');
    const ids = await createSome(store);
    await expectStored(storeWith({}, other), ids);
    await knex.destroy();
    await expectStored(storeWith({}, connect()), ids);
  });

  it('a create whose connection must be opened anew waits until it can be', async () => {
    const { knex, store } = database;
    await other.raw('COMMIT');
    const client = knex.client as Knex.Client;
    const connection = (await client.acquireConnection()) as object;
    discard(connection);
    client.releaseConnection(connection);
    const busy = Object.assign(new Error('database is locked'), { code: 'SQLITE_BUSY' });
    const open = vi.spyOn(client, 'acquireRawConnection').mockRejectedValueOnce(busy);
    await expect(store.insert(entryOf())).resolves.toEqual({ outcome: 'inserted' });
    expect(open).toHaveBeenCalledTimes(2);
  });
});
