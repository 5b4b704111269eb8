import { setTimeout as delay } from 'node:timers/promises';
import type { Knex } from 'knex';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { readDatabase } from '../../src/settings/config.js';
import { openDatabase } from '../../src/store/database.js';
import { locked } from '../../src/store/migration-lock.js';
import { type Database, engines } from '../support/engines.js';
import { describeOn } from '../support/needs.js';

/** A wait that is over before the test is. */
const SHORT_MS = 1_000;

describeOn(engines)('the lock of migrations on $name', (engine) => {
  let database: Database;
  let one: Knex;
  let other: Knex;

  beforeEach(async () => {
    database = await engine.createDatabase();
    one = openDatabase(readDatabase({ DATABASE_URL: database.url }));
    other = openDatabase(readDatabase({ DATABASE_URL: database.url }));
  });

  afterEach(async () => {
    await one.destroy();
    await other.destroy();
    await database.drop();
  });

  it('makes a second one wait for the first', async () => {
    const order: string[] = [];
    const first = locked(one, async () => {
      order.push('first begins');
      await delay(300);
      order.push('first ends');
    });
    await expect.poll(() => order).toEqual(['first begins']);
    const second = locked(other, () => Promise.resolve(order.push('second begins')));
    await Promise.all([first, second]);
    expect(order).toEqual(['first begins', 'first ends', 'second begins']);
  });

  it('is waited for no longer than a limit', async () => {
    await locked(one, async () => {
      const second = locked(other, () => Promise.resolve(), SHORT_MS);
      await expect(second).rejects.toThrow(
        'Another process has been migrating the database for 1 s. Try again when it has ended.',
      );
    });
  });

  it('is free again after a failure, which is passed on', async () => {
    const failure = new Error('failed');
    await expect(locked(one, () => Promise.reject(failure))).rejects.toBe(failure);
    await expect(locked(other, () => Promise.resolve('done'), 0)).resolves.toBe('done');
    await expect(locked(one, () => Promise.resolve('done'), 0)).resolves.toBe('done');
  });
});

describeOn(engines.slice(1))('the lock of migrations on $name', (engine) => {
  it('ends with its connection, and so does the work', async () => {
    const database = await engine.createDatabase();
    const one = openDatabase(readDatabase({ DATABASE_URL: database.url }));
    const other = openDatabase(readDatabase({ DATABASE_URL: database.url }));
    const work = locked(one, async (connection) => {
      const session = await connection.first<{ id: number }>(connection.raw('connection_id() as id'));
      await other.raw('kill connection ?', [session.id]);
      await connection.schema.createTable('late', (table) => table.increments());
    });
    await expect(work).rejects.toThrow();
    await expect(locked(other, () => other.schema.hasTable('late'), 0)).resolves.toBe(false);
    await one.destroy();
    await other.destroy();
    await database.drop();
  });
});
