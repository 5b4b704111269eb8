import { setTimeout as delay } from 'node:timers/promises';
import { type Connection, createConnection, type RowDataPacket } from 'mysql2/promise';
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import type { InsertOutcome, NewRoute } from '../../src/registry/route-store.js';
import { CancelledBeforeSend } from '../../src/store/batch.js';
import { engines } from '../support/engines.js';
import { describeOn } from '../support/needs.js';
import { type KnexRouteStore, type OpenedStore, openStore } from '../support/open-store.js';
import { entryOf } from '../support/store-entries.js';

const OTHERS = 15;
const INSERTED = { outcome: 'inserted' };
const UNAVAILABLE = { reason: 'STORE_UNAVAILABLE' };
const ROW =
  "insert into routes (id, method, path, middleware, handler, created_at_ms, caller, request_id, shape) values (unhex(replace(uuid(), '-', '')), 'GET', '/', '[]', 'h', 0, ?, ?, ?)";

/** A lock that another session holds on what a create needs. */
interface Lock {
  readonly on: string;
  /** @param entry the create */
  readonly take: (session: Connection, entry: NewRoute) => Promise<unknown>;
}

const LOCKS: readonly Lock[] = [
  {
    on: 'its key, which it has inserted',
    take: (session, { caller, idempotencyKey }) =>
      session.query(ROW, [Buffer.from(caller), Buffer.from(idempotencyKey ?? ''), null]),
  },
  {
    on: 'its shape, which it has inserted',
    take: (session, { shape }) => session.query(ROW, [Buffer.from('other'), null, Buffer.from(shape)]),
  },
  {
    on: 'the gap around its shape',
    take: (session, { shape }) =>
      session.query(
        'select id from routes force index (routes_shape) where shape between ? and ? for update',
        [Buffer.from(shape), Buffer.from(`${shape}~`)],
      ),
  },
];

describeOn(engines.slice(1))('while another session holds a lock, on $name', (engine) => {
  let database: OpenedStore;
  let store: KnexRouteStore;
  let session: Connection;
  /** The texts of the INSERT statements. */
  let inserts: string[] = [];

  beforeAll(async () => {
    database = await openStore(engine);
    database.knex.on('query', ({ sql }: { sql: string }) => {
      if (sql.startsWith('insert')) inserts.push(sql);
    });
    // The gap around the shape of a locked create ends at these. The others, with hexadecimal paths, are not in it.
    for (const path of ['/g', '/z']) await database.strict.insert(entryOf({ path }));
  });

  beforeEach(async () => {
    store = database.storeWith({ duplicates: 'reject' });
    inserts = [];
    session = await createConnection({ uri: database.url });
    onTestFinished(async () => {
      await session.query('unlock tables');
      await session.rollback();
      await session.end();
    });
    await session.beginTransaction();
  });

  afterAll(() => database.close());

  const insertOthers = (length = OTHERS): Promise<InsertOutcome>[] =>
    Array.from({ length }, () => store.insert(entryOf({}, { caller: 'others' })));

  describe.each(LOCKS)('on $on,', ({ on, take }) => {
    const entry = (): NewRoute =>
      entryOf({ path: `/locked ${on}/:id`.replaceAll(' ', '-') }, { idempotencyKey: on });

    it('a create becomes unavailable and the others of its batch are stored; afterwards it is stored', async () => {
      await take(session, entry());
      const create = store.insert(entry());
      const others = insertOthers();
      await expect(create).rejects.toMatchObject(UNAVAILABLE);
      await expect(Promise.all(others)).resolves.toEqual(others.map(() => INSERTED));
      // From now on, it waits alone.
      const [again, ...afterwards] = [store.insert(entry()), ...insertOthers()];
      const first = Promise.race([again.catch(() => 'waited'), Promise.all(afterwards)]);
      await expect(first).resolves.toEqual(others.map(() => INSERTED));
      await session.rollback();
      await expect(again).resolves.toEqual(INSERTED);
      await expect(store.insert(entry())).resolves.toMatchObject({ outcome: 'repeated' });
    });
  });

  it.each([1, OTHERS])(
    'on the route of a repeat, which it has deleted, the repeat gets it and %i others are stored',
    async (count) => {
      const entry = (): NewRoute =>
        entryOf({ path: `/deleted-beside-${count}/:id` }, { idempotencyKey: `deleted beside ${count}` });
      const first = entry();
      await store.insert(first);
      // By its primary key: for another column, the optimizer may read, and so lock, the whole of a small table.
      await session.query('delete from routes where id = unhex(?)', [first.route.id.replaceAll('-', '')]);
      const [repeat, ...others] = [store.insert(entry()), ...insertOthers(count)];
      // The error arrives after one second, and a busy process reads it after more than two.
      await delay(500);
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_700);
      await expect(repeat).resolves.toEqual({ outcome: 'repeated', route: first.route });
      await expect(Promise.all(others)).resolves.toEqual(others.map(() => INSERTED));
    },
  );

  it.each(['read', 'write'])(
    'on the table (%s), creates become unavailable after one statement',
    async (kind) => {
      await session.query(`lock tables routes ${kind}`);
      const settled = await Promise.allSettled(insertOthers());
      expect(settled).toEqual(
        settled.map(() => ({ status: 'rejected', reason: expect.objectContaining(UNAVAILABLE) as unknown })),
      );
      expect(inserts).toHaveLength(1);
      await session.query('unlock tables');
      await expect(Promise.all(insertOthers())).resolves.toHaveLength(OTHERS);
    },
  );

  describe('on ever-new shapes of one caller', () => {
    let created = 0;

    beforeEach(async () => {
      // A range of shapes. The others, with hexadecimal paths, are not in it.
      await session.query(
        'select id from routes force index (routes_shape) where shape > ? and shape < ? for update',
        [Buffer.from('GET /g'), Buffer.from('GET /z')],
      );
    });

    const lockedEntry = (): NewRoute => entryOf({ path: `/locked-${created++}` }, { caller: 'locked' });
    const freeEntry = (): NewRoute => entryOf({}, { caller: 'locked' });

    /** Sends a create whose caller leaves once the database has its statement. */
    async function leaveAfterSending(entry: NewRoute): Promise<void> {
      const sent = inserts.length;
      const caller = new AbortController();
      const create = store.insert(entry, caller.signal);
      const ended = expect(create).rejects.toThrow(CancelledBeforeSend);
      await expect.poll(() => inserts.length).toBeGreaterThan(sent);
      caller.abort();
      await ended;
    }

    /** Sends a create that waits for the lock beside others; resolves with the most rows of one of its statements. */
    async function rowsBeside(entry: NewRoute): Promise<number> {
      inserts = [];
      const create = store.insert(entry);
      const others = insertOthers();
      await expect(create).rejects.toMatchObject(UNAVAILABLE);
      await expect(Promise.all(others)).resolves.toEqual(others.map(() => INSERTED));
      const path = Buffer.from(entry.route.path).toString('hex');
      return Math.max(
        ...inserts.filter((text) => text.includes(path)).map((text) => text.split('), (').length),
      );
    }

    it('its third create waits alone, although it left while the first two waited', async () => {
      await leaveAfterSending(lockedEntry());
      await leaveAfterSending(lockedEntry());
      await expect(rowsBeside(lockedEntry())).resolves.toBe(1);
    });

    it('its creates wait alone although one of them was stored', async () => {
      await leaveAfterSending(lockedEntry());
      await leaveAfterSending(lockedEntry());
      await expect(store.insert(freeEntry())).resolves.toEqual(INSERTED);
      await expect(rowsBeside(lockedEntry())).resolves.toBe(1);
    });

    it('its creates share statements again once ten of them are stored', async () => {
      await leaveAfterSending(lockedEntry());
      await leaveAfterSending(lockedEntry());
      await Promise.all(Array.from({ length: 10 }, () => store.insert(freeEntry())));
      inserts = [];
      await Promise.all(Array.from({ length: OTHERS }, () => store.insert(freeEntry())));
      expect(inserts.length).toBeLessThan(OTHERS);
    });
  });

  it('on the shape and then the key of a create, of which the create holds one, it is stored afterwards', async () => {
    const entry = entryOf({}, { caller: 'other', idempotencyKey: 'deadlock' });
    // More rows than the store inserts, since the lighter transaction loses a deadlock.
    for (let row = 0; row < 20; row++) await session.query(ROW, ['heavy', null, null]);
    await session.query(ROW, ['heavy', null, Buffer.from(entry.shape)]);
    // The create holds its key and waits for its shape, …
    const stored = store.insert(entry);
    const waiting = async (): Promise<unknown[]> => {
      const [threads] = await session.query<RowDataPacket[]>('show full processlist');
      return threads.filter((thread) =>
        String(thread['Info']).includes(Buffer.from(entry.route.path).toString('hex')),
      );
    };
    await expect.poll(waiting).toHaveLength(1);
    // … while the session holds the shape and waits for the key.
    await session.query(ROW, ['other', 'deadlock', null]);
    await session.rollback();
    await expect(stored).resolves.toEqual(INSERTED);
  });
});
