import type { Knex } from 'knex';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import type { NewRoute } from '../../src/registry/route-store.js';
import { readDatabase } from '../../src/settings/config.js';
import { openDatabase } from '../../src/store/database.js';
import { KnexRouteStore } from '../../src/store/knex-route-store.js';
import { migrateUp } from '../../src/store/migrations.js';
import { NotSent } from '../../src/store/waiting.js';
import { type Database, engines } from '../support/engines.js';
import { describeOn } from '../support/needs.js';
import { entryOf } from '../support/store-entries.js';

/** More than any pool holds. */
const MANY = 30;

describeOn(engines)('a call that has ended, on $name', (engine) => {
  let database: Database;
  let knex: Knex;
  let store: KnexRouteStore;
  /** The statements that were sent. */
  let sent: string[];

  beforeAll(async () => {
    database = await engine.createDatabase();
    knex = openDatabase(readDatabase({ DATABASE_URL: database.url }));
    await migrateUp(knex);
    store = new KnexRouteStore(knex);
    knex.on('query', ({ sql }: { sql: string }) => sent.push(sql));
  });

  afterAll(async () => {
    await knex.destroy();
    await database.drop();
  });

  /** Takes every connection, so that statements wait for one; resolves with how to give them back. */
  async function takeConnections(): Promise<() => Promise<unknown>> {
    const taken: Knex.Transaction[] = [];
    const waiting: Promise<Knex.Transaction>[] = [];
    for (let i = 0; i < MANY; i++) waiting.push(knex.transaction());
    for (const each of waiting) void each.then((transaction) => taken.push(transaction));
    await expect.poll(() => taken.length).toBeGreaterThan(0);
    await new Promise((resolve) => setTimeout(resolve, 100));
    let given = false;
    const giveBack = async (): Promise<unknown> => {
      if (given) return;
      given = true;
      // Those that come late are given back as they come.
      return Promise.all(waiting.map(async (each) => (await each).rollback()));
    };
    onTestFinished(async () => {
      await giveBack();
    });
    return giveBack;
  }

  const stored = async (entries: readonly NewRoute[]): Promise<boolean[]> =>
    Promise.all(entries.map(async ({ route }) => (await store.find(route.id)) !== undefined));

  it.each<[string, () => Promise<unknown>]>([
    ['insert', () => store.insert(entryOf(), 'allow', AbortSignal.abort())],
    ['find', () => store.find(entryOf().route.id, AbortSignal.abort())],
    ['findByRequestId', () => store.findByRequestId('me', 'key', AbortSignal.abort())],
    ['findByShape', () => store.findByShape('shape', AbortSignal.abort())],
  ])('sends nothing to the database by %s', async (_, call) => {
    sent = [];
    await expect(call()).rejects.toThrow(NotSent);
    expect(sent).toEqual([]);
  });

  it('stores nothing, though it ended while its statement waited for a connection', async () => {
    const giveBack = await takeConnections();
    const caller = new AbortController();
    const gone = entryOf();
    const inserted = store.insert(gone, 'allow', caller.signal);
    inserted.catch(() => undefined);
    await new Promise((resolve) => setTimeout(resolve, 50));
    caller.abort();
    await giveBack();
    await expect(inserted).rejects.toThrow(NotSent);
    await expect(stored([gone])).resolves.toEqual([false]);
  });

  it('keeps no other from being stored with those that came together with it', async () => {
    const giveBack = await takeConnections();
    const caller = new AbortController();
    const entries = [entryOf(), entryOf(), entryOf()];
    const signals = [undefined, caller.signal, undefined];
    const settled = Promise.allSettled(entries.map((entry, i) => store.insert(entry, 'allow', signals[i])));
    await new Promise((resolve) => setTimeout(resolve, 50));
    caller.abort();
    await giveBack();
    expect((await settled).map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    await expect(stored(entries)).resolves.toEqual([true, false, true]);
  });
});
