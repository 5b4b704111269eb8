import { once } from 'node:events';
import type { Knex } from 'knex';
import { afterEach, beforeEach, expect, it, onTestFinished } from 'vitest';
import { locked } from '../../src/store/migrations.js';
import { engines } from '../support/engines.js';
import { describeOn } from '../support/needs.js';
import { type OpenedDatabase, openEmpty } from '../support/open-store.js';

/** A wait that ends before the test times out. */
const SHORT_MS = 1_000;
/** Makes a lock attempt fail at once: a blocking wait would also block the holder of the lock, in the same process. */
const IMPATIENT = new Map([[engines[0], 'PRAGMA busy_timeout = 0']]);

describeOn(engines)('the migration lock on $name', (engine) => {
  let database: OpenedDatabase;
  let one: Knex;
  let other: Knex;

  beforeEach(async () => {
    database = await openEmpty(engine);
    one = database.knex;
    other = database.connect();
  });

  afterEach(() => database.close());

  it('makes a second migration wait for the first', async () => {
    await other.raw(IMPATIENT.get(engine) ?? 'select 1');
    const order: string[] = [];
    let second: Promise<unknown> | undefined;
    await locked(one, async (connection) => {
      const asked = once(other, 'query');
      second = locked(other, () => Promise.resolve(order.push('second begins')));
      await asked;
      // Longer than the second migration would need for a free lock.
      for (let statement = 0; statement < 20; statement++) await connection.raw('select 1');
      order.push('first ends');
    });
    await second;
    expect(order).toEqual(['first ends', 'second begins']);
  });

  it('is waited for only up to a time limit', async () => {
    await locked(one, async () => {
      const second = locked(other, () => Promise.resolve(), SHORT_MS);
      await expect(second).rejects.toThrow(
        'Another process has been migrating the database for 1 s. Try again when it has ended.',
      );
    });
  });

  it('is released after a failure, which is passed on', async () => {
    const failure = new Error('failed');
    await expect(locked(one, () => Promise.reject(failure))).rejects.toBe(failure);
    await expect(locked(other, () => Promise.resolve('done'), 0)).resolves.toBe('done');
    await expect(locked(one, () => Promise.resolve('done'), 0)).resolves.toBe('done');
  });
});

describeOn(engines.slice(1))('the migration lock on $name', (engine) => {
  it('is released when its connection ends, and the work stops', async () => {
    const { knex: one, connect, close } = await openEmpty(engine);
    onTestFinished(close);
    const other = connect();
    const work = locked(one, async (connection) => {
      const session = await connection.first<{ id: number }>(connection.raw('connection_id() as id'));
      await other.raw('kill connection ?', [session.id]);
      await connection.schema.createTable('late', (table) => table.increments());
    });
    await expect(work).rejects.toThrow();
    await expect(locked(other, () => other.schema.hasTable('late'), 0)).resolves.toBe(false);
  });
});
