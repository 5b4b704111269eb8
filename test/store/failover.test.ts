import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import type { Database } from '../../src/settings/database-url.js';
import { openForCalls } from '../../src/store/database.js';
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

/** Some of the errors that leave open whether a statement was executed; driver-errors.test.ts has all of them. */
const UNCLEAR: readonly (readonly [errno: number | undefined, name: string])[] = [
  [undefined, 'a lost connection'],
  [1180, 'an error during the commit'],
  [1927, 'a killed connection (an error that mysql2 has no name for)'],
];

const faultOf = (errno: number | undefined, done: boolean): Fault =>
  errno === undefined ? { done } : { done, answer: errno };

describeOn(engines.slice(1))('on $name', (engine) => {
  let database: OpenedStore;

  beforeAll(async () => {
    database = await openStore(engine);
  });

  afterAll(() => database.close());

  interface Opened {
    readonly store: KnexRouteStore;
    readonly front: MysqlFaultFront;
  }

  /** Opens a store whose statements have these faults. */
  async function opened(
    faultAt: (statement: Statement) => Fault | undefined,
    duplicates: 'allow' | 'reject' = 'reject',
  ): Promise<Opened> {
    const front = await startMysqlFaultFront(database.port, faultAt);
    return { store: database.storeWith({ duplicates }, database.connect(front.port)), front };
  }

  /** Opens a store whose first statement of a kind has the fault. */
  async function openedWithFirst(
    kind: Statement['kind'],
    fault: Fault,
    duplicates?: 'allow' | 'reject',
  ): Promise<Opened> {
    let first = true;
    return opened((statement) => {
      if (statement.kind !== kind || !first) return undefined;
      first = false;
      return fault;
    }, duplicates);
  }

  const insertsIn = ({ statements }: MysqlFaultFront): Statement[] =>
    statements.filter(({ kind }) => kind === 'INSERT');

  /** How many rows each entry has. */
  async function rowsOf(entries: readonly ReturnType<typeof entryOf>[]): Promise<number[]> {
    const rows = await database.knex<{ handler: string; path: string }>('routes').select('handler', 'path');
    return entries.map(
      ({ route }) =>
        rows.filter(({ handler, path }) => handler === route.handler && path === route.path).length,
    );
  }

  describe('a create whose outcome an attempt has left open', () => {
    /** What the database answers to all later attempts, for every row. */
    const REFUSALS = [
      [1142, 'a grant that is missing'],
      [1146, 'a table that is missing'],
      [1406, 'a value that is too long'],
    ] as const;

    describe.each(REFUSALS)('and that is then refused with %i, for %s,', (errno) => {
      it.each([1, 7])('is unavailable, alone or in a batch: of %i', async (count) => {
        let inserts = 0;
        const { store, front } = await opened(({ kind }) => {
          if (kind !== 'INSERT') return undefined;
          return ++inserts === 1 ? { done: true } : { done: false, answer: errno };
        });
        const entries = Array.from({ length: count }, () => entryOf());
        const settled = await Promise.allSettled(entries.map((entry) => store.insert(entry)));
        expect(settled).toEqual(
          entries.map(() => ({
            status: 'rejected',
            reason: expect.objectContaining({ reason: 'STORE_UNAVAILABLE' }) as unknown,
          })),
        );
        expect(insertsIn(front).length).toBeGreaterThan(1);
        await expect(rowsOf(entries)).resolves.toEqual(entries.map(() => 1));
      });
    });

    /** Opens a store whose first `INSERT` gets this answer without being executed, and all others lack the grant. */
    const openedBeforeRefusal = (first: Omit<Fault, 'done'>): Promise<Opened> => {
      let inserts = 0;
      return opened(({ kind }) => {
        if (kind !== 'INSERT') return undefined;
        return { done: false, ...(++inserts === 1 ? first : { answer: 1142 }) };
      });
    };

    it('is unavailable, and one of another statement is refused', async () => {
      const { store } = await openedBeforeRefusal({});
      await expect(store.insert(entryOf())).rejects.toMatchObject({ reason: 'STORE_UNAVAILABLE' });
      await expect(store.insert(entryOf())).rejects.toMatchObject({ errno: 1142 });
    });

    it('is unavailable if the database has been silent in a later attempt, and a third one is refused', async () => {
      const faults: Fault[] = [
        { done: false, answer: 1213 },
        { done: true, answer: 'silence' },
        { done: false, answer: 1142 },
      ];
      const { port } = await startMysqlFaultFront(database.port, ({ kind }) =>
        kind === 'INSERT' ? faults.shift() : undefined,
      );
      const knex = openForCalls({ ...database.location, port } as Database, {
        ...CALL_TIMES,
        // Connecting must be quicker, on a busy machine, too.
        silenceMs: 1_000,
      });
      onTestFinished(() => knex.destroy());

      const insert = database.storeWith({ duplicates: 'reject' }, knex).insert(entryOf());
      await expect(insert).rejects.toMatchObject({ reason: 'STORE_UNAVAILABLE' });
      expect(faults).toEqual([]);
    });

    it.each([1213, 1290])('is not one that the database has rolled back (%i)', async (answer) => {
      const { store } = await openedBeforeRefusal({ answer });
      await expect(store.insert(entryOf())).rejects.toMatchObject({ errno: 1142 });
    });
  });

  describe('a create', () => {
    it('that reaches the wrong server is retried on another one, to which gets go, too', async () => {
      let demoted = 0;
      const { store, front } = await opened(({ kind, connection }) =>
        kind === 'INSERT' && connection <= demoted ? { done: false, answer: 1290 } : undefined,
      );
      const gets = (count: number) =>
        Promise.all(Array.from({ length: count }, () => store.find(entryOf().route.id)));
      // Two connections lead to the server before it is demoted.
      await expect
        .poll(async () => {
          await gets(65);
          return Math.max(...front.statements.map(({ connection }) => connection));
        })
        .toBeGreaterThan(1);
      demoted = Math.max(...front.statements.map(({ connection }) => connection));
      const entry = entryOf({ handler: 'moved' });
      await expect(store.insert(entry)).resolves.toEqual({ outcome: 'inserted' });
      expect(insertsIn(front)).toHaveLength(2);
      await expect(rowsOf([entry])).resolves.toEqual([1]);
      const before = front.statements.length;
      await gets(300);
      const connections = front.statements.slice(before).map(({ connection }) => connection);
      expect(connections.length).toBeGreaterThanOrEqual(5);
      expect(Math.min(...connections)).toBeGreaterThan(demoted);
    });

    it.each<[string, 'allow' | 'reject', string | undefined]>([
      ['with a request id', 'allow', 'key'],
      ['while duplicates are refused', 'reject', undefined],
      ['with a request id, while duplicates are refused', 'reject', 'another key'],
    ])(
      'whose outcome is lost is not a repeat or duplicate of itself: %s',
      async (_, duplicates, requestId) => {
        const { store } = await openedWithFirst('INSERT', { done: true }, duplicates);
        const entry = entryOf({ handler: 'own' }, { idempotencyKey: requestId });
        await expect(store.insert(entry)).resolves.toEqual({ outcome: 'inserted' });
        await expect(rowsOf([entry])).resolves.toEqual([1]);
      },
    );

    it('that a proxy sends twice is stored once', async () => {
      // The second one meets the row of the first, without an earlier error.
      const { store } = await openedWithFirst('INSERT', { done: 'twice' });
      const entry = entryOf({ handler: 'proxied' });
      await expect(store.insert(entry)).resolves.toEqual({ outcome: 'inserted' });
      await expect(rowsOf([entry])).resolves.toEqual([1]);
    });

    it('is sent once while the database is known to be away, and again and again as long as it is not', async () => {
      let isAway = false;
      const front = await startMysqlFaultFront(database.port, ({ kind }) =>
        kind === 'INSERT' ? { done: false, answer: 1213 } : undefined,
      );
      const store = database.storeWith({ isAway: () => isAway }, database.connect(front.port));
      const create = store.insert(entryOf());
      await expect.poll(() => insertsIn(front).length).toBeGreaterThan(2);
      isAway = true;
      await expect(create).rejects.toMatchObject({ reason: 'STORE_UNAVAILABLE' });
      const before = insertsIn(front).length;
      await expect(store.insert(entryOf())).rejects.toMatchObject({ reason: 'STORE_UNAVAILABLE' });
      expect(insertsIn(front)).toHaveLength(before + 1);
    });

    it('is not retried once its caller is gone', async () => {
      const caller = new AbortController();
      let inserts = 0;
      const { store, front } = await opened(({ kind }) => {
        if (kind === 'INSERT' && ++inserts === 2) caller.abort();
        return kind === 'INSERT' ? { done: false, answer: 1213 } : undefined;
      });
      await expect(store.insert(entryOf(), caller.signal)).rejects.toMatchObject({
        name: 'CancelledBeforeSend',
      });
      expect(insertsIn(front)).toHaveLength(2);
    });

    it('is no longer retried on an unreachable database once its caller is gone', async () => {
      const caller = new AbortController();
      const { store, front } = await opened(({ kind }) => {
        if (kind !== 'INSERT') return undefined;
        caller.abort();
        front.refuse();
        return { done: false };
      });
      await expect(store.insert(entryOf(), caller.signal)).rejects.toMatchObject({
        name: 'CancelledBeforeSend',
      });
    });
  });

  describe('creates that share a statement', () => {
    it.each(UNCLEAR.flatMap(([errno, name]) => [true, false].map((done) => [name, done, errno] as const)))(
      'are each stored once after %s (statement executed: %s)',
      async (_, done, errno) => {
        const { store, front } = await openedWithFirst('INSERT', faultOf(errno, done));
        const entries = Array.from({ length: 20 }, (_each, i) => entryOf({ handler: `h${i}` }));
        const outcomes = await Promise.all(entries.map((entry) => store.insert(entry)));
        expect(outcomes).toEqual(entries.map(() => ({ outcome: 'inserted' })));
        expect(insertsIn(front)).toHaveLength(2);
        await expect(rowsOf(entries)).resolves.toEqual(entries.map(() => 1));
      },
    );

    it('are each stored, repeated or refused as without faults, whichever statements have faults', async () => {
      const faults: readonly Fault[] = [
        { done: false, answer: 1105 },
        { done: true },
        { done: false, answer: 1290 },
        { done: true, answer: 1180 },
        { done: false },
        { done: true, answer: 1317 },
      ];
      let inserts = 0;
      let faulty = false;
      const { store } = await opened(({ kind }) =>
        kind === 'INSERT' && faulty && ++inserts % 2 === 1
          ? faults[(inserts >> 1) % faults.length]
          : undefined,
      );
      const earlier = entryOf({ handler: 'earlier', path: '/earlier/:id' }, { idempotencyKey: 'earlier' });
      await store.insert(earlier);
      faulty = true;
      const fresh = Array.from({ length: 4 }, (_, i) =>
        entryOf({ handler: `fresh${i}` }, { idempotencyKey: i % 2 === 0 ? `key${i}` : undefined }),
      );
      const repeat = entryOf({ handler: 'earlier', path: '/earlier/:id' }, { idempotencyKey: 'earlier' });
      const duplicate = entryOf({ handler: 'duplicate', path: '/earlier/:key' });
      const results = await Promise.all([
        ...fresh.map((entry) => store.insert(entry)),
        store.insert(repeat),
        store.insert(duplicate),
      ]);
      expect(results).toEqual([
        ...fresh.map(() => ({ outcome: 'inserted' })),
        { outcome: 'repeated', route: earlier.route },
        { outcome: 'duplicate', id: earlier.route.id },
      ]);
      await expect(rowsOf([...fresh, earlier, duplicate])).resolves.toEqual([...fresh.map(() => 1), 1, 0]);
    });
  });

  describe('a get', () => {
    it.each(UNCLEAR)('is retried after error %s (%s)', async (errno) => {
      const { store, front } = await openedWithFirst('SELECT', faultOf(errno, false));
      const entry = entryOf();
      await store.insert(entry);
      await expect(store.find(entry.route.id)).resolves.toEqual(entry.route);
      expect(front.statements.filter(({ kind }) => kind === 'SELECT')).toHaveLength(2);
    });

    it.each(
      (['BEGIN', 'SELECT'] as const).flatMap((kind) =>
        UNCLEAR.map(([errno, name]) => [name, kind, errno] as const),
      ),
    )('by request id or shape is retried after %s at its %s', async (_, kind, errno) => {
      let first = false;
      const { store } = await opened((statement) => {
        if (statement.kind !== kind || !first) return undefined;
        first = false;
        return faultOf(errno, false);
      });
      const entry = entryOf({}, { idempotencyKey: `${kind} ${errno ?? 0}` });
      await store.insert(entry);
      first = true;
      const found = store.findByIdempotencyKey('me', `${kind} ${errno ?? 0}`);
      await expect(found).resolves.toEqual(entry.route);
      first = true;
      await expect(store.findDuplicate(entry.shape)).resolves.toBe(entry.route.id);
      expect(first).toBe(false);
    });
  });
});
