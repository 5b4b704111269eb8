import type { Knex } from 'knex';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { CancelledBeforeSend } from '../../src/store/batch.js';
import { poolFigures } from '../../src/store/database.js';
import { engines } from '../support/engines.js';
import { describeOn } from '../support/needs.js';
import { type KnexRouteStore, type OpenedStore, openStore } from '../support/open-store.js';
import { entryOf } from '../support/store-entries.js';

describeOn(engines)('a call that has ended, on $name', (engine) => {
  let database: OpenedStore;
  let knex: Knex;
  let store: KnexRouteStore;
  /** The statements that were sent. */
  let sent: string[];

  beforeAll(async () => {
    database = await openStore(engine);
    ({ knex, store } = database);
    knex.on('query', ({ sql }: { sql: string }) => sent.push(sql));
  });

  afterAll(() => database.close());

  /** Takes every connection, so that statements wait; resolves with a function that releases them. */
  async function takeConnections(): Promise<() => Promise<unknown>> {
    const { max } = (knex.client as { config: { pool: { max: number } } }).config.pool;
    const taken = await Promise.all(Array.from({ length: max }, () => knex.transaction()));
    const giveBack = (): Promise<unknown> => Promise.all(taken.map((transaction) => transaction.rollback()));
    onTestFinished(async () => {
      await giveBack();
    });
    return giveBack;
  }

  /** Resolves when a statement waits for a connection. */
  async function wait(): Promise<void> {
    await expect.poll(() => poolFigures(knex).waiting).toBe(1);
  }

  const stored = async (entries: readonly ReturnType<typeof entryOf>[]): Promise<boolean[]> =>
    Promise.all(entries.map(async ({ route }) => (await store.find(route.id)) !== undefined));

  it.each<[string, () => Promise<unknown>]>([
    ['insert', () => store.insert(entryOf(), AbortSignal.abort())],
    ['find', () => store.find(entryOf().route.id, AbortSignal.abort())],
    ['findByIdempotencyKey', () => store.findByIdempotencyKey('me', 'key', AbortSignal.abort())],
    ['findDuplicate', () => database.strict.findDuplicate('shape', AbortSignal.abort())],
  ])('sends nothing to the database from %s', async (_, call) => {
    sent = [];
    await expect(call()).rejects.toThrow(CancelledBeforeSend);
    expect(sent).toEqual([]);
  });

  it('stores nothing, even if it ended while its statement waited for a connection', async () => {
    const giveBack = await takeConnections();
    const caller = new AbortController();
    const gone = entryOf();
    const inserted = store.insert(gone, caller.signal);
    inserted.catch(() => undefined);
    await wait();
    caller.abort();
    await giveBack();
    await expect(inserted).rejects.toThrow(CancelledBeforeSend);
    await expect(stored([gone])).resolves.toEqual([false]);
  });

  it('does not keep the other calls of its statement from being stored', async () => {
    const giveBack = await takeConnections();
    const caller = new AbortController();
    const entries = [entryOf(), entryOf(), entryOf()];
    const signals = [undefined, caller.signal, undefined];
    const settled = Promise.allSettled(entries.map((entry, i) => store.insert(entry, signals[i])));
    await wait();
    caller.abort();
    await giveBack();
    expect((await settled).map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    await expect(stored(entries)).resolves.toEqual([true, false, true]);
  });
});
