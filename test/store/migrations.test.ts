import { once } from 'node:events';
import type { Knex } from 'knex';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  ensureSchema,
  migrateUp,
  MIGRATIONS,
  migrationStatus,
  underMigrationLock,
} from '../../src/store/migrations.js';
import { parseDatabaseUrl } from '../../src/settings/database-url.js';
import { openForCalls } from '../../src/store/database.js';
import { engines } from '../support/engines.js';
import { EXPAND, NEXT } from '../support/later-schemas.js';
import { describeOn } from '../support/needs.js';
import { CALL_TIMES, type OpenedDatabase, openEmpty } from '../support/open-store.js';

const NAMES = MIGRATIONS.map(({ name }) => name);

it('the migrations are in the order of their unique numbers', () => {
  const numbers = NAMES.map((name) => name.slice(0, 4));
  expect([...new Set(numbers)].sort()).toEqual(numbers);
});

describeOn(engines)('the migrations on $name', (engine) => {
  let database: OpenedDatabase;
  let knex: Knex;

  beforeEach(async () => {
    database = await openEmpty(engine);
    ({ knex } = database);
  });

  afterEach(() => database.close());

  it('run once, and report their status without changing the database', async () => {
    await expect(migrationStatus(knex)).resolves.toEqual({ applied: [], pending: NAMES });
    await expect(knex.schema.hasTable('route_registry_migrations')).resolves.toBe(false);
    await expect(migrateUp(knex)).resolves.toEqual(NAMES);
    await expect(knex.schema.hasTable('routes')).resolves.toBe(true);
    await expect(migrateUp(knex)).resolves.toEqual([]);
    await expect(migrationStatus(knex)).resolves.toEqual({ applied: NAMES, pending: [] });
  });

  it('release a lock that a Knex run left', async () => {
    await migrateUp(knex);
    await knex('route_registry_migrations_lock').update({ is_locked: 1 });
    await expect(migrateUp(knex, NEXT)).resolves.toEqual([EXPAND.name]);
  });

  it('run beside another application of Knex in the same database, and neither touches what the other has', async () => {
    const own = {
      name: '0001-theirs',
      up: (on: Knex) => on.schema.createTable('theirs', (t) => t.increments()),
    };
    const migrationSource = {
      getMigrations: () => Promise.resolve([own]),
      getMigrationName: () => own.name,
      getMigration: () => Promise.resolve({ ...own, down: () => Promise.resolve() }),
    };
    await knex.migrate.latest({ migrationSource });
    await knex('knex_migrations_lock').update({ is_locked: 1 });
    await expect(migrateUp(knex)).resolves.toEqual(NAMES);
    await expect(migrationStatus(knex)).resolves.toEqual({ applied: NAMES, pending: [] });
    await expect(knex('knex_migrations_lock').pluck('is_locked')).resolves.toEqual([1]);
    await expect(knex('knex_migrations').pluck('name')).resolves.toEqual([own.name]);
    await knex('knex_migrations_lock').update({ is_locked: 0 });
    await expect(knex.migrate.latest({ migrationSource })).resolves.toEqual([expect.any(Number), []]);
  });

  it('refuse the table of a build before the first version', async () => {
    await knex.schema.createTable('knex_migrations', (table) => table.string('name'));
    await knex('knex_migrations').insert({ name: '0001-routes' });
    await knex.schema.createTable('routes', (table) => table.binary('shape', 32));
    const refusal =
      /^The database in DATABASE_URL was made by a build before the first version, .*: name an empty one\.$/;
    await expect(migrateUp(knex)).rejects.toThrow(refusal);
    await expect(ensureSchema(knex)).rejects.toThrow(refusal);
    await expect(knex.schema.hasTable('route_registry_migrations')).resolves.toBe(false);
  });

  it('leave an unrelated table of the same name alone', async () => {
    await knex.schema.createTable('routes', (table) => {
      table.string('stop');
    });
    await knex('routes').insert({ stop: 'Station' });
    await expect(migrateUp(knex)).rejects.toThrow(/caller/);
    await expect(knex('routes').select()).resolves.toEqual([{ stop: 'Station' }]);
  });

  it('release their own lock after a failure, which is passed on', async () => {
    const failure = new Error('failed');
    await expect(underMigrationLock(knex, () => Promise.reject(failure))).rejects.toBe(failure);
    await expect(underMigrationLock(database.connect(), () => Promise.resolve('done'), 0)).resolves.toBe(
      'done',
    );
    await expect(underMigrationLock(knex, () => Promise.resolve('done'), 0)).resolves.toBe('done');
  });

  it('of this version have nothing to do on the schema of the next one, on which it starts', async () => {
    await migrateUp(knex, NEXT);
    await expect(ensureSchema(knex)).resolves.toBe(NEXT.length);
    await expect(migrateUp(knex)).resolves.toEqual([]);
    const applied = NEXT.map(({ name }) => name);
    await expect(migrationStatus(knex)).resolves.toEqual({ applied, pending: [] });
  });
});

describe('an embedded database', () => {
  let database: OpenedDatabase;

  beforeEach(async () => {
    database = await openEmpty(engines[0]);
  });

  afterEach(() => database.close());

  it('is migrated when the service starts', async () => {
    await expect(ensureSchema(database.knex)).resolves.toBe(NAMES.length);
    await expect(database.knex.schema.hasTable('routes')).resolves.toBe(true);
  });

  it('is locked by a migration, so that no second one begins', async () => {
    const other = database.connect();
    // A wait would block the holder of the lock, in the same process.
    await other.raw('PRAGMA busy_timeout = 0');
    await underMigrationLock(database.knex, async () => {
      await expect(underMigrationLock(other, () => Promise.resolve())).rejects.toMatchObject({
        code: 'SQLITE_BUSY',
      });
    });
    await expect(underMigrationLock(other, () => Promise.resolve('done'))).resolves.toBe('done');
  });
});

describeOn(engines.slice(1))('a database on $name', (engine) => {
  let database: OpenedDatabase;
  let knex: Knex;
  let other: Knex;

  beforeEach(async () => {
    database = await openEmpty(engine);
    ({ knex } = database);
    other = database.connect();
  });

  afterEach(() => database.close());

  it('with an outdated schema is refused with the command that updates it, and accepted afterwards', async () => {
    await expect(ensureSchema(knex)).rejects.toThrow(
      'The database schema is out of date. Update it with: node dist/migrate.js (from sources: npm run migrate)',
    );
    await expect(knex.schema.hasTable('routes')).resolves.toBe(false);
    await migrateUp(knex);
    await expect(ensureSchema(knex)).resolves.toBe(NAMES.length);
  });

  it('whose user may not update, as creates need to, is refused with the grant that is missing', async () => {
    await migrateUp(knex);
    const url = new URL(database.url);
    const name = url.pathname.slice(1);
    const user = name.slice(-32);
    await knex.raw(`create user '${user}'@'%' identified by 'p'`);
    await knex.raw(`grant select, insert on ${name}.* to '${user}'@'%'`);
    Object.assign(url, { username: user, password: 'p' });
    const ensured = async (): Promise<number> => {
      const own = openForCalls(parseDatabaseUrl(url.href), CALL_TIMES);
      return ensureSchema(own).finally(() => own.destroy());
    };
    await expect(ensured()).rejects.toThrow(
      /^The database at \S+ answered \S+ \(114[23]\)\. Its user lacks the grant INSERT or UPDATE on the table routes\.$/,
    );
    await knex.raw(`grant update on ${name}.* to '${user}'@'%'`);
    await expect(ensured()).resolves.toBe(NAMES.length);
    await knex.raw(`drop user '${user}'@'%'`);
  });

  it('stores text as utf8mb4, whatever its default', async () => {
    await migrateUp(knex);
    const rows = (await knex('information_schema.columns')
      .where({ table_schema: knex.raw('database()'), table_name: 'routes' })
      .whereNotNull('character_set_name')
      .select({ charset: 'character_set_name', collation: 'collation_name' })
      .distinct()) as unknown;
    expect(rows).toEqual([{ charset: 'utf8mb4', collation: 'utf8mb4_bin' }]);
  });

  it('lets a second migration wait for the first', async () => {
    const order: string[] = [];
    let second: Promise<unknown> | undefined;
    await underMigrationLock(knex, async (connection) => {
      const asked = once(other, 'query');
      second = underMigrationLock(other, () => Promise.resolve(order.push('second begins')));
      await asked;
      // Longer than the second migration would need for a free lock.
      for (let statement = 0; statement < 20; statement++) await connection.raw('select 1');
      order.push('first ends');
    });
    await second;
    expect(order).toEqual(['first ends', 'second begins']);
  });

  it('lets a migration wait only up to a time limit', async () => {
    await underMigrationLock(knex, async () => {
      const asked = performance.now();
      const second = underMigrationLock(other, () => Promise.resolve(), 1_000);
      await expect(second).rejects.toThrow(
        'Another process has been migrating the database for 1 s. Try again when it has ended.',
      );
      // The server's clock need not agree to the millisecond.
      expect(performance.now() - asked).toBeGreaterThan(900);
    });
  });

  it('is free for the next migration when the connection of one ends, whose work stops', async () => {
    const work = underMigrationLock(knex, async (connection) => {
      const session = await connection.first<{ id: number }>(connection.raw('connection_id() as id'));
      await other.raw('kill connection ?', [session.id]);
      await connection.schema.createTable('late', (table) => table.increments());
    });
    await expect(work).rejects.toThrow();
    await expect(underMigrationLock(other, () => other.schema.hasTable('late'), 0)).resolves.toBe(false);
  });
});
