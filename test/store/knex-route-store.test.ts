import { performance } from 'node:perf_hooks';
import type { Knex } from 'knex';
import { afterAll, beforeAll, expect, it, onTestFinished, vi } from 'vitest';
import type { NewRoute } from '../../src/registry/route-store.js';
import { poolFigures } from '../../src/store/pool.js';
import { engines } from '../support/engines.js';
import { startMysqlFaultFront, type Statement } from '../support/mysql-fault-front.js';
import { describeOn } from '../support/needs.js';
import { type KnexRouteStore, type OpenedStore, openStore } from '../support/open-store.js';
import { entryOf } from '../support/store-entries.js';

/** The routes of one batch. */
const BATCH = 64;
const INSERTED = { outcome: 'inserted' };
/** What a batch takes in which something is stored already: it inserts the rest, and looks up what that is. */
const SETTLED = ['insert', 'select'];

const fresh = (): NewRoute => entryOf();
const batchWith = (...odd: readonly NewRoute[]): NewRoute[] => [
  ...Array.from({ length: BATCH - odd.length }, fresh),
  ...odd,
];

const inserted = (count: number): unknown[] => Array.from({ length: count }, () => INSERTED);

describeOn(engines)('a batch of creates, on $name', (engine) => {
  let database: OpenedStore;
  let knex: Knex;
  let store: KnexRouteStore;
  /** The first words of the statements sent since the last `sentFor`. */
  let sent: string[] = [];

  beforeAll(async () => {
    database = await openStore(engine);
    ({ knex } = database);
    knex.on('query', ({ sql }: { sql: string }) => sent.push((/^\w+/.exec(sql)?.[0] ?? sql).toLowerCase()));
  });

  afterAll(() => database.close());

  /** Inserts entries with a store that has inserted nothing before; they come together. */
  async function insertAll(
    entries: readonly NewRoute[],
    duplicates: 'allow' | 'reject' = 'allow',
  ): Promise<unknown[]> {
    store = database.storeWith({ duplicates });
    sent = [];
    return Promise.all(entries.map((entry) => store.insert(entry)));
  }

  it('takes one statement', async () => {
    await expect(insertAll(batchWith())).resolves.toEqual(inserted(BATCH));
    expect(sent).toEqual(['insert']);
  });

  it('is not dissolved by a repeat', async () => {
    const first = entryOf({ path: '/repeat/:id' }, { idempotencyKey: 'repeat' });
    await database.store.insert(first);
    const repeat = entryOf({ path: '/repeat/:id' }, { idempotencyKey: 'repeat' });
    await expect(insertAll(batchWith(repeat))).resolves.toEqual([
      ...inserted(BATCH - 1),
      { outcome: 'repeated', route: first.route },
    ]);
    expect(sent).toEqual(SETTLED);
  });

  it('is not dissolved by a duplicate that is refused', async () => {
    const first = entryOf({ path: '/duplicate/:id' });
    await database.strict.insert(first);
    const duplicate = entryOf({ path: '/duplicate/:key' });
    await expect(insertAll(batchWith(duplicate), 'reject')).resolves.toEqual([
      ...inserted(BATCH - 1),
      { outcome: 'duplicate', id: first.route.id },
    ]);
    expect(sent).toEqual(SETTLED);
  });

  it('tells of each duplicate that is refused the first route of its own shape', async () => {
    const firsts = [entryOf({ path: '/one/:id' }), entryOf({ path: '/other/:id' })];
    await Promise.all(firsts.map((entry) => database.strict.insert(entry)));
    const duplicates = [entryOf({ path: '/other/:key' }), entryOf({ path: '/one/:key' })];
    await expect(insertAll(duplicates, 'reject')).resolves.toEqual(
      firsts.map(({ route: { id } }) => ({ outcome: 'duplicate', id })).reverse(),
    );
  });

  it('takes a look-up if its own routes repeat each other, and only the first of them is stored', async () => {
    const key = (handler: string): NewRoute =>
      entryOf({ path: '/twice', handler }, { idempotencyKey: 'twice' });
    const [first, second, third] = [key('a'), key('a'), key('b')];
    const others = Array.from({ length: BATCH - 3 }, fresh);
    await expect(insertAll([first, second, third, ...others])).resolves.toEqual([
      INSERTED,
      { outcome: 'repeated', route: first.route },
      { outcome: 'repeated', route: first.route },
      ...inserted(BATCH - 3),
    ]);
    expect(sent).toEqual(SETTLED);
  });

  it('takes a look-up if its own routes are duplicates of each other', async () => {
    const [first, second] = [entryOf({ path: '/own/:a' }), entryOf({ path: '/own/:b' })];
    await expect(insertAll([first, second], 'reject')).resolves.toEqual([
      INSERTED,
      { outcome: 'duplicate', id: first.route.id },
    ]);
    expect(sent).toEqual(SETTLED);
  });

  it('checks the key of a duplicate before its shape', async () => {
    const stored = entryOf({ path: '/both/:id' }, { idempotencyKey: 'both' });
    await database.strict.insert(stored);
    const retried = entryOf({ path: '/both/:id' }, { idempotencyKey: 'both' });
    const other = entryOf({ path: '/both/:id' }, { idempotencyKey: 'another' });
    const plain = entryOf({ path: '/both/:id' });
    await expect(insertAll([plain, retried, other], 'reject')).resolves.toEqual([
      { outcome: 'duplicate', id: stored.route.id },
      { outcome: 'repeated', route: stored.route },
      { outcome: 'duplicate', id: stored.route.id },
    ]);
  });

  it('is not joined by the creates of a caller who repeats before they are looked up, for ten seconds', async () => {
    let now = performance.now();
    vi.spyOn(performance, 'now').mockImplementation(() => now);
    onTestFinished(() => void vi.restoreAllMocks());
    const caller = 'repeater';
    const first = entryOf({ path: '/again' }, { caller, idempotencyKey: 'again' });
    const repeat = (): NewRoute => entryOf({ path: '/again' }, { caller, idempotencyKey: 'again' });
    await insertAll([first]);
    await store.insert(repeat());
    sent = [];
    await expect(store.insert(entryOf())).resolves.toEqual(INSERTED);
    expect(sent).toEqual(['insert']);
    sent = [];
    await expect(
      Promise.all(batchWith(repeat(), repeat()).map((entry) => store.insert(entry))),
    ).resolves.toEqual([
      ...inserted(BATCH - 2),
      { outcome: 'repeated', route: first.route },
      { outcome: 'repeated', route: first.route },
    ]);
    expect([...sent].sort()).toEqual(['insert', 'select']);
    now += 9_999;
    await store.insert(repeat());
    now += 9_999;
    sent = [];
    await store.insert(repeat());
    expect(sent).toEqual(['select']);
    now += 10_001;
    sent = [];
    await store.insert(entryOf({}, { caller }));
    expect(sent).toEqual(['insert']);
  });

  it('is not joined by further duplicates with keys, which are refused once the writer has no such key', async () => {
    const first = entryOf({ path: '/keyed/:id' });
    const duplicate = (idempotencyKey: string): NewRoute =>
      entryOf({ path: '/keyed/:key' }, { caller: 'keyed', idempotencyKey });
    const refused = { outcome: 'duplicate', id: first.route.id };
    await insertAll([first], 'reject');
    await expect(store.insert(duplicate('a'))).resolves.toEqual(refused);
    sent = [];
    const entries = batchWith(duplicate('b'), duplicate('c'));
    await expect(Promise.all(entries.map((entry) => store.insert(entry)))).resolves.toEqual([
      ...inserted(BATCH - 2),
      refused,
      refused,
    ]);
    expect([...sent].sort()).toEqual(['begin', 'commit', 'insert', 'select', 'select']);
  });

  it('whose row the table does not take stores all others', async () => {
    // Longer than its column; SQLite checks no lengths, but refuses a text that is null.
    const handler = engine.name === 'SQLite' ? (null as unknown as string) : 'h'.repeat(256);
    const bad = { ...entryOf(), route: { ...entryOf().route, handler } };
    const entries = batchWith(bad);
    store = database.storeWith({});
    const settled = await Promise.allSettled(entries.map((entry) => store.insert(entry)));
    expect(settled.map(({ status }) => status)).toEqual([
      ...Array.from({ length: BATCH - 1 }, () => 'fulfilled'),
      'rejected',
    ]);
  });

  it('of the largest routes takes statements of less than 1 MiB', async () => {
    const lengths: number[] = [];
    const measure = ({ sql, bindings }: { sql: string; bindings: readonly string[] }): void => {
      lengths.push(Buffer.byteLength(sql + bindings.join('')));
    };
    knex.on('query', measure);
    onTestFinished(() => {
      knex.removeListener('query', measure);
    });
    const path = (i: number): string => `/${String(i).padEnd(2047, 'p')}`;
    const large = Array.from({ length: BATCH }, (_, i) =>
      entryOf(
        { path: path(i), middleware: Array<string>(64).fill('中'.repeat(255)), handler: '中'.repeat(255) },
        { caller: '😀'.repeat(255), idempotencyKey: `large${i}`.padEnd(128, 'k') },
      ),
    );
    await expect(insertAll(large)).resolves.toEqual(inserted(BATCH));
    expect(lengths.length).toBeGreaterThan(1);
    expect(lengths.length).toBeLessThanOrEqual(BATCH / 8);
    expect(Math.max(...lengths)).toBeLessThan(1_048_576);
  });

  it('dry runs share a transaction, and hold at most two connections', async () => {
    store = database.storeWith({ duplicates: 'reject' });
    await store.insert(entryOf({ path: '/dry/:id' }));
    sent = [];
    let most = 0;
    const watch = (): void => {
      most = Math.max(most, poolFigures(knex).used);
    };
    knex.on('query', watch);
    onTestFinished(() => {
      knex.removeListener('query', watch);
    });
    await Promise.all(Array.from({ length: 10 * BATCH }, () => store.findDuplicate('GET /dry/:')));
    expect(sent.filter((operation) => operation === 'select')).toHaveLength(10);
    expect(most).toBeLessThanOrEqual(2);
  });
});

/** The handler `long`, as a statement has it. */
const LONG = `x'${Buffer.from('long').toString('hex')}'`;

describeOn(engines.slice(1))('a batch of creates before a faulty $name', (engine) => {
  let database: OpenedStore;

  beforeAll(async () => {
    database = await openStore(engine);
  });

  afterAll(() => database.close());

  /** The outcomes of a batch, and its statements, where the server answers some with an error. */
  async function insertAll(
    entries: readonly NewRoute[],
    errorOf: (statement: Statement) => number | undefined,
  ): Promise<{ settled: readonly PromiseSettledResult<unknown>[]; kinds: Statement['kind'][] }> {
    const front = await startMysqlFaultFront(database.port, (statement) => {
      const answer = errorOf(statement);
      return answer === undefined ? undefined : { done: false, answer };
    });
    const store = database.storeWith({}, database.connect(front.port));
    const settled = await Promise.allSettled(entries.map((entry) => store.insert(entry)));
    return { settled, kinds: front.statements.map(({ kind }) => kind) };
  }

  it('that is too long for it stores all but the route that is', async () => {
    const long = entryOf({ handler: 'long' });
    const { settled, kinds } = await insertAll(batchWith(long), ({ kind, text }) =>
      kind === 'INSERT' && text.includes(LONG) ? 1153 : undefined,
    );
    expect(settled.map(({ status }) => status)).toEqual([
      ...Array.from({ length: BATCH - 1 }, () => 'fulfilled'),
      'rejected',
    ]);
    expect(settled.at(-1)).toMatchObject({ reason: { code: 'ER_NET_PACKET_TOO_LARGE' } });
    // Together, and then one by one.
    expect(kinds).toEqual(Array.from({ length: 1 + BATCH }, () => 'INSERT'));
  });

  it('that is too long for it stores the others although the caller beside leaves', async () => {
    const long = entryOf({ handler: 'long' });
    const others = Array.from({ length: BATCH - 2 }, fresh);
    const caller = new AbortController();
    const front = await startMysqlFaultFront(database.port, ({ kind, text }) => {
      if (kind !== 'INSERT') return undefined;
      caller.abort();
      return text.includes(LONG) ? { done: false, answer: 1153 } : undefined;
    });
    const store = database.storeWith({}, database.connect(front.port));
    const [tooLong, gone, ...rest] = await Promise.allSettled([
      store.insert(long),
      store.insert(fresh(), caller.signal),
      ...others.map((entry) => store.insert(entry)),
    ]);
    expect(tooLong).toMatchObject({ reason: { code: 'ER_NET_PACKET_TOO_LARGE' } });
    expect(gone).toMatchObject({ reason: { name: 'CancelledBeforeSend' } });
    expect(rest).toEqual(rest.map(() => ({ status: 'fulfilled', value: INSERTED })));
  });

  it('that it refuses for all fails at once', async () => {
    const { settled, kinds } = await insertAll(batchWith(), ({ kind }) =>
      kind === 'INSERT' ? 1142 : undefined,
    );
    expect(settled.map(({ status }) => status)).toEqual(Array.from({ length: BATCH }, () => 'rejected'));
    expect(kinds).toEqual(['INSERT']);
  });

  it.each([
    ['a time limit', { done: false, answer: 1969 }],
    ['an unknown error', { done: false, answer: 1105 }],
    ['a lost connection', { done: false }],
  ])('is stored although the look-up for repeats fails because of %s, once', async (name, fault) => {
    const first = entryOf({ path: '/fail' }, { idempotencyKey: name });
    await database.store.insert(first);
    let failing = false;
    const front = await startMysqlFaultFront(database.port, ({ kind }) =>
      failing && kind === 'SELECT' ? fault : undefined,
    );
    const store = database.storeWith({}, database.connect(front.port));
    await store.insert(entryOf({ path: '/fail' }, { idempotencyKey: name }));
    failing = true;
    const before = front.statements.length;
    const entries = Array.from({ length: BATCH }, (_, i) => entryOf({}, { idempotencyKey: `${name} ${i}` }));
    await expect(Promise.all(entries.map((entry) => store.insert(entry)))).resolves.toEqual(inserted(BATCH));
    expect(front.statements.slice(before).map(({ kind }) => kind)).toEqual(['SELECT', 'INSERT']);
  });
});
