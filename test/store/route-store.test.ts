import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { engines } from '../support/engines.js';
import { describeOn } from '../support/needs.js';
import { type KnexRouteStore, type OpenedStore, openStore } from '../support/open-store.js';
import { entryOf, uuidAt } from '../support/store-entries.js';

describeOn(engines)('the store on $name', (engine) => {
  let database: OpenedStore;
  let store: KnexRouteStore;
  /** Another instance of the service on the same database. */
  let otherStore: KnexRouteStore;
  /** The same, where duplicates are refused. */
  let strict: KnexRouteStore;
  let otherStrict: KnexRouteStore;

  beforeAll(async () => {
    database = await openStore(engine);
    ({ store, strict } = database);
    otherStore = database.storeWith({}, database.connect());
    otherStrict = database.storeWith({ duplicates: 'reject' }, database.connect());
  });

  afterAll(() => database.close());

  it('responds to a ping', async () => {
    await expect(store.ping()).resolves.toBeUndefined();
  });

  it.each<[string, Parameters<typeof entryOf>[0]]>([
    ['the plainest route', {}],
    ['four-byte characters', { handler: '😀𝒳', middleware: ['👩‍👩‍👧', '𐍈'] }],
    [
      '64 middleware with repeats, in order,',
      { middleware: Array.from({ length: 64 }, (_, i) => `m${(i * 7) % 60}`) },
    ],
    [
      'the longest values',
      { method: 'M'.repeat(32), path: `/${'p'.repeat(2047)}`, handler: '😀'.repeat(255) },
    ],
    ['64 middleware of 255 four-byte characters', { middleware: Array<string>(64).fill('😀'.repeat(255)) }],
    [
      'quotes, backslashes and line separators',
      { handler: `'"\\%_\u2028;--`, middleware: ['\\', '"', "'", '\\n'] },
    ],
    [
      'the placeholders of statements',
      { path: '/:a/??', handler: '? ?? \\? :a $1 @a', middleware: ['?', '??', ':b'] },
    ],
    ['composed and decomposed letters, which stay distinct,', { handler: '\u00e9', middleware: ['e\u0301'] }],
    ['inner spaces', { handler: 'a  b', middleware: ['a b'] }],
    ['the first millisecond of a second', { createdAt: new Date(Date.UTC(2026, 0, 2, 3, 4, 5, 0)) }],
    ['the last millisecond of a year', { createdAt: new Date(Date.UTC(2026, 11, 31, 23, 59, 59, 999)) }],
    [
      'an hour that daylight saving time skips in Europe',
      { createdAt: new Date(Date.UTC(2026, 2, 29, 1, 30)) },
    ],
    ['a time beyond 2038', { createdAt: new Date(Date.UTC(2100, 0, 1)) }],
  ])('returns %s as stored', async (_, change) => {
    const entry = entryOf(change);
    await expect(store.insert(entry)).resolves.toEqual({ outcome: 'inserted' });
    await expect(otherStore.find(entry.route.id)).resolves.toEqual(entry.route);
  });

  it.each([
    ['of no route', uuidAt(0)],
    ['that is not a UUID', 'x'],
    ['that is empty', ''],
    ['with a trailing space', `${uuidAt(0)} `],
    ['that looks like SQL', "' OR 1=1 --"],
  ])('finds nothing under an identifier %s', async (_, id) => {
    await expect(store.find(id)).resolves.toBeUndefined();
  });

  it('finds nothing under another form of a known identifier', async () => {
    const entry = entryOf();
    await store.insert(entry);
    const { id } = entry.route;
    const forms = [id.toUpperCase(), `{${id}}`, id.replaceAll('-', ''), `urn:uuid:${id}`, ` ${id}`];
    await expect(Promise.all(forms.map((form) => store.find(form)))).resolves.toEqual(
      forms.map(() => undefined),
    );
  });

  it('stores one route for concurrent inserts with the same caller and request id from two instances', async () => {
    const requestId = randomBytes(8).toString('hex');
    const inserts = Array.from({ length: 50 }, async (_, index) => {
      const entry = entryOf({}, { idempotencyKey: requestId });
      const result = await (index % 2 === 0 ? store : otherStore).insert(entry);
      return result.outcome === 'repeated'
        ? { ...result, id: result.route.id }
        : { ...result, id: entry.route.id };
    });
    const results = await Promise.all(inserts);
    expect(results.filter(({ outcome }) => outcome === 'inserted')).toHaveLength(1);
    expect(results.filter(({ outcome }) => outcome === 'repeated')).toHaveLength(49);
    expect(new Set(results.map(({ id }) => id)).size).toBe(1);
  });

  it.each([
    ['another caller', 'you', 'key'],
    ['a caller who differs by case', 'Me', 'key'],
    ['a caller with a trailing space', 'me ', 'key'],
    ['a caller with an accent', 'mé', 'key'],
    ['a request id that differs by case', 'me', 'KEY'],
    ['the same text split elsewhere into caller and request id', 'mek', 'ey'],
  ])('does not treat %s as a repeat', async (_, caller, requestId) => {
    await store.insert(entryOf({}, { caller: 'me', idempotencyKey: 'key' }));
    await expect(store.insert(entryOf({}, { caller, idempotencyKey: requestId }))).resolves.toEqual({
      outcome: 'inserted',
    });
  });

  it.each([
    ['with a plain name', 'you'],
    ['with a non-ASCII name', 'müller@example'],
    ['with SQL metacharacters in its name', `o'b"r\\ie?n\0--`],
  ])('finds a route by its request id and a caller %s', async (_, caller) => {
    const entry = entryOf({}, { caller, idempotencyKey: `find'me?` });
    await store.insert(entry);
    await expect(otherStore.findByIdempotencyKey(caller, `find'me?`)).resolves.toEqual(entry.route);
    await expect(otherStore.findByIdempotencyKey(caller, 'find-you')).resolves.toBeUndefined();
  });

  it('stores one route for concurrent inserts of one shape while duplicates are refused', async () => {
    const path = `/${randomBytes(8).toString('hex')}`;
    const inserts = Array.from({ length: 50 }, async (_, index) => {
      const entry = entryOf({ path: `${path}/:p${index}` });
      const result = await (index % 2 === 0 ? strict : otherStrict).insert(entry);
      return result.outcome === 'inserted' ? { ...result, id: entry.route.id } : result;
    });
    const results = await Promise.all(inserts);
    const [first] = results.filter(({ outcome }) => outcome === 'inserted');
    const duplicates = results.filter(({ outcome }) => outcome === 'duplicate');
    expect(duplicates).toHaveLength(49);
    expect(duplicates).toEqual(
      duplicates.map(() => ({ outcome: 'duplicate', id: first && 'id' in first && first.id })),
    );
  });

  it('stores duplicates while they are allowed, and a dry run finds none', async () => {
    const entries = [entryOf({ path: '/twice/:id' }), entryOf({ path: '/twice/:key' })];
    for (const entry of entries) await expect(store.insert(entry)).resolves.toEqual({ outcome: 'inserted' });
    await expect(store.find(String(entries[1]?.route.id))).resolves.toEqual(entries[1]?.route);
    await expect(store.findDuplicate('GET /twice/:')).resolves.toBeUndefined();
  });

  it('refuses duplicates while they are refused, and a dry run finds the first', async () => {
    const first = entryOf({ path: '/once/:id' });
    await expect(strict.insert(first)).resolves.toEqual({ outcome: 'inserted' });
    await expect(otherStrict.findDuplicate(first.shape)).resolves.toBe(first.route.id);
    await expect(otherStrict.findDuplicate('GET /never')).resolves.toBeUndefined();
    const repeat = entryOf({ path: '/once/:key' }, { idempotencyKey: 'once' });
    await expect(otherStrict.insert(repeat)).resolves.toEqual({ outcome: 'duplicate', id: first.route.id });
  });

  it('never stores a second route under one identifier', async () => {
    const entry = entryOf();
    await store.insert(entry);
    await expect(store.insert(entryOf({ id: entry.route.id, handler: 'other' }))).rejects.toMatchObject({
      reason: 'STORE_UNAVAILABLE',
    });
    await expect(store.find(entry.route.id)).resolves.toEqual(entry.route);
  });

  it('fails only the invalid one of several concurrent inserts', async () => {
    const entries = Array.from({ length: 20 }, () => entryOf());
    const twin = entryOf({ id: String(entries[7]?.route.id) });
    const results = await Promise.allSettled([...entries, twin].map((entry) => store.insert(entry)));
    expect(results.map(({ status }) => status)).toEqual([...entries.map(() => 'fulfilled'), 'rejected']);
    const found = await Promise.all(entries.map(({ route }) => otherStore.find(route.id)));
    expect(found).toEqual(entries.map(({ route }) => route));
  });

  it('returns to each of many concurrent finds its own route or none', async () => {
    const entries = Array.from({ length: 100 }, () => entryOf());
    await Promise.all(entries.map((entry) => store.insert(entry)));
    const ids = entries.flatMap(({ route }) => [route.id, uuidAt(0), route.id]);
    const found = await Promise.all(ids.map((id) => store.find(id)));
    expect(found).toEqual(entries.flatMap(({ route }) => [route, undefined, route]));
  });

  it('stores nothing under an identifier that is not a canonical UUID', async () => {
    await expect(store.insert(entryOf({ id: 'X' }))).rejects.toThrow('canonical UUID');
  });
});
