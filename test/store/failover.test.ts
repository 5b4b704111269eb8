import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { engines } from '../support/engines.js';
import {
  type Fault,
  type MysqlFaultFront,
  startMysqlFaultFront,
  type Statement,
} from '../support/mysql-fault-front.js';
import { describeOn } from '../support/needs.js';
import { type KnexRouteStore, type OpenedStore, openStore } from '../support/open-store.js';
import { entryOf } from '../support/store-entries.js';

/** Some of the errors that leave open whether a statement was done; attempts.test.ts has all of them. */
const UNCLEAR: readonly (readonly [errno: number | undefined, name: string])[] = [
  [undefined, 'a lost connection'],
  [1180, 'an error during the commit'],
  [1927, 'a connection that was killed, for which mysql2 has no name'],
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

  /** A store whose statements have faults. */
  async function opened(faultAt: (statement: Statement) => Fault | undefined): Promise<Opened> {
    const front = await startMysqlFaultFront(database.port, faultAt);
    return { store: database.storeWith({}, database.connect(front.port)), front };
  }

  /** A store of which the first statement of a kind has a fault. */
  async function openedWithFirst(kind: Statement['kind'], fault: Fault): Promise<Opened> {
    let first = true;
    return opened((statement) => {
      if (statement.kind !== kind || !first) return undefined;
      first = false;
      return fault;
    });
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

  describe('a create', () => {
    it('that comes to the wrong server goes to another one', async () => {
      let demoted = 0;
      const { store, front } = await opened(({ kind, connection }) =>
        kind === 'INSERT' && connection <= demoted ? { done: false, answer: 1290 } : undefined,
      );
      // Two connections lead to the server that is demoted then.
      await Promise.all(Array.from({ length: 65 }, () => store.find(entryOf().route.id)));
      demoted = Math.max(...front.statements.map(({ connection }) => connection));
      expect(demoted).toBeGreaterThan(1);
      const entry = entryOf({ handler: 'moved' });
      await expect(store.insert(entry, 'allow')).resolves.toEqual({ outcome: 'inserted' });
      expect(insertsIn(front)).toHaveLength(2);
      await expect(rowsOf([entry])).resolves.toEqual([1]);
    });

    it('that comes to the wrong server keeps gets from going there', async () => {
      let demoted = 0;
      const { store, front } = await opened(({ kind, connection }) =>
        kind === 'INSERT' && connection <= demoted ? { done: false, answer: 1290 } : undefined,
      );
      await Promise.all(Array.from({ length: 65 }, () => store.find(entryOf().route.id)));
      demoted = Math.max(...front.statements.map(({ connection }) => connection));
      await store.insert(entryOf(), 'allow');
      const before = front.statements.length;
      await Promise.all(Array.from({ length: 300 }, () => store.find(entryOf().route.id)));
      const connections = front.statements.slice(before).map(({ connection }) => connection);
      expect(connections.length).toBeGreaterThanOrEqual(5);
      expect(Math.min(...connections)).toBeGreaterThan(demoted);
    });

    it.each(
      UNCLEAR.flatMap(([errno, name]) =>
        [true, false].map((done) => [name, done ? 'done' : 'not done', errno, done] as const),
      ),
    )('that ends with %s, %s, is stored once', async (_name, _done, errno, done) => {
      const { store, front } = await openedWithFirst('INSERT', faultOf(errno, done));
      const entry = entryOf({ handler: 'once' });
      await expect(store.insert(entry, 'allow')).resolves.toEqual({ outcome: 'inserted' });
      expect(insertsIn(front)).toHaveLength(2);
      await expect(rowsOf([entry])).resolves.toEqual([1]);
      await expect(store.find(entry.route.id)).resolves.toEqual(entry.route);
    });

    it.each<[string, 'allow' | 'reject', string | undefined]>([
      ['with a request id', 'allow', 'key'],
      ['while duplicates are refused', 'reject', undefined],
      ['with a request id, while duplicates are refused', 'reject', 'another key'],
    ])('whose end is not seen is no repeat or duplicate of itself: %s', async (_, duplicates, requestId) => {
      const { store } = await openedWithFirst('INSERT', { done: true });
      const entry = entryOf({ handler: 'own' }, { idempotencyKey: requestId });
      await expect(store.insert(entry, duplicates)).resolves.toEqual({ outcome: 'inserted' });
      await expect(rowsOf([entry])).resolves.toEqual([1]);
    });

    it('of a known shape whose end is not seen is stored once', async () => {
      let inserts = 0;
      const { store } = await opened(({ kind }) =>
        kind === 'INSERT' && ++inserts === 2 ? { done: true } : undefined,
      );
      const first = entryOf({ path: '/known/:a', handler: 'first' });
      const second = entryOf({ path: '/known/:b', handler: 'second' });
      await store.insert(first, 'allow');
      await expect(store.insert(second, 'allow')).resolves.toEqual({ outcome: 'inserted' });
      await expect(rowsOf([first, second])).resolves.toEqual([1, 1]);
    });

    it('that its proxy has sent twice by itself is stored once', async () => {
      // The second one is refused for the row of the first one, without any error before.
      const { store } = await openedWithFirst('INSERT', { done: true, answer: 1062 });
      const entry = entryOf({ handler: 'proxied' });
      await expect(store.insert(entry, 'reject')).resolves.toEqual({ outcome: 'inserted' });
      await expect(rowsOf([entry])).resolves.toEqual([1]);
    });

    it('that takes longer than the server lets it is not sent again', async () => {
      const { store, front } = await openedWithFirst('INSERT', { done: false, answer: 1969 });
      await expect(store.insert(entryOf(), 'allow')).rejects.toMatchObject({ reason: 'DEADLINE_EXCEEDED' });
      expect(insertsIn(front)).toHaveLength(1);
    });

    it('is not sent again when nobody waits for it any more', async () => {
      const caller = new AbortController();
      let inserts = 0;
      const { store, front } = await opened(({ kind }) => {
        if (kind === 'INSERT' && ++inserts === 2) caller.abort();
        return kind === 'INSERT' ? { done: false, answer: 1213 } : undefined;
      });
      await expect(store.insert(entryOf(), 'allow', caller.signal)).rejects.toMatchObject({
        name: 'NotSent',
      });
      expect(insertsIn(front)).toHaveLength(2);
    });

    it('is not tried any longer on a database that cannot be reached when nobody waits for it', async () => {
      const caller = new AbortController();
      const { store, front } = await opened(({ kind }) => {
        if (kind !== 'INSERT') return undefined;
        caller.abort();
        front.refuse();
        return { done: false };
      });
      await expect(store.insert(entryOf(), 'allow', caller.signal)).rejects.toMatchObject({
        name: 'NotSent',
      });
    });

    it('that the database refuses is not sent again', async () => {
      const { store, front } = await openedWithFirst('INSERT', { done: false, answer: 1406 });
      await expect(store.insert(entryOf(), 'allow')).rejects.toThrow('ER_DATA_TOO_LONG');
      expect(insertsIn(front)).toHaveLength(1);
    });
  });

  describe('creates that share a statement', () => {
    it.each(UNCLEAR.flatMap(([errno, name]) => [true, false].map((done) => [name, done, errno] as const)))(
      'that ends with %s (done: %s) are each stored once',
      async (_, done, errno) => {
        const { store } = await openedWithFirst('INSERT', faultOf(errno, done));
        const entries = Array.from({ length: 20 }, (_each, i) => entryOf({ handler: `h${i}` }));
        const outcomes = await Promise.all(entries.map((entry) => store.insert(entry, 'allow')));
        expect(outcomes).toEqual(entries.map(() => ({ outcome: 'inserted' })));
        await expect(rowsOf(entries)).resolves.toEqual(entries.map(() => 1));
      },
    );

    it('are each stored once, repeated or refused as without faults, whatever statements have them', async () => {
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
      await store.insert(earlier, 'allow');
      faulty = true;
      const fresh = Array.from({ length: 4 }, (_, i) =>
        entryOf({ handler: `fresh${i}` }, { idempotencyKey: i % 2 === 0 ? `key${i}` : undefined }),
      );
      const repeat = entryOf({ handler: 'earlier', path: '/earlier/:id' }, { idempotencyKey: 'earlier' });
      const duplicate = entryOf({ handler: 'duplicate', path: '/earlier/:key' });
      const allowed = entryOf({ handler: 'allowed', path: '/earlier/:key' });
      const results = await Promise.all([
        ...fresh.map((entry) => store.insert(entry, 'reject')),
        store.insert(repeat, 'reject'),
        store.insert(duplicate, 'reject'),
        store.insert(allowed, 'allow'),
      ]);
      expect(results).toEqual([
        ...fresh.map(() => ({ outcome: 'inserted' })),
        { outcome: 'repeated', route: earlier.route },
        { outcome: 'duplicate', id: earlier.route.id },
        { outcome: 'inserted' },
      ]);
      await expect(rowsOf([...fresh, earlier, duplicate, allowed])).resolves.toEqual([
        ...fresh.map(() => 1),
        1,
        0,
        1,
      ]);
    });
  });

  describe('a get', () => {
    it.each(UNCLEAR)('that ends with %s (%s) is sent again', async (errno) => {
      const { store, front } = await openedWithFirst('SELECT', faultOf(errno, false));
      const entry = entryOf();
      await store.insert(entry, 'allow');
      await expect(store.find(entry.route.id)).resolves.toEqual(entry.route);
      expect(front.statements.filter(({ kind }) => kind === 'SELECT')).toHaveLength(2);
    });

    it.each(
      (['BEGIN', 'SELECT'] as const).flatMap((kind) =>
        UNCLEAR.map(([errno, name]) => [name, kind, errno] as const),
      ),
    )('by request id or shape is sent again after %s at its %s', async (_, kind, errno) => {
      let first = false;
      const { store } = await opened((statement) => {
        if (statement.kind !== kind || !first) return undefined;
        first = false;
        return faultOf(errno, false);
      });
      const entry = entryOf({}, { idempotencyKey: `${kind} ${errno ?? 0}` });
      await store.insert(entry, 'allow');
      first = true;
      const found = store.findByIdempotencyKey('me', `${kind} ${errno ?? 0}`);
      await expect(found).resolves.toEqual(entry.route);
      first = true;
      await expect(store.findByShape(entry.shape)).resolves.toBe(entry.route.id);
      expect(first).toBe(false);
    });
  });
});
