import type { Knex } from 'knex';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { CancelledBeforeSend } from '../../src/store/batch.js';
import { poolFigures } from '../../src/store/pool.js';
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

  it.each([
    ['alone', [false]],
    ['beside others of its statement, which are', [true, false, true]],
  ])('is not stored if it ended while its statement waited for a connection: %s', async (_, wanted) => {
    const giveBack = await takeConnections();
    const caller = new AbortController();
    const entries = wanted.map(() => entryOf());
    const settled = Promise.allSettled(
      entries.map((entry, i) => store.insert(entry, wanted[i] === true ? undefined : caller.signal)),
    );
    await expect.poll(() => poolFigures(knex).waiting).toBe(1);
    caller.abort();
    await giveBack();
    const failures = (await settled).filter(({ status }) => status === 'rejected');
    expect(failures).toMatchObject([{ reason: { name: 'CancelledBeforeSend' } }]);
    const found = await Promise.all(entries.map(({ route }) => store.find(route.id)));
    expect(found.map((route) => route !== undefined)).toEqual(wanted);
  });
});
