import type { Knex } from 'knex';
import { createConnection } from 'mysql2/promise';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { reachOrExplain } from '../../src/store/database-start.js';
import type { MysqlDatabase } from '../../src/settings/database-url.js';
import { openForCalls, openForMigrations } from '../../src/store/database.js';
import { KnexRouteStore } from '../../src/store/knex-route-store.js';
import { ensureSchema, migrateUp, MIGRATIONS } from '../../src/store/migrations.js';
import { mysqlEngine } from '../../src/store/engines/mysql.js';
import { insertOf, tupleOf } from '../../src/store/route-sql.js';
import { engines } from '../support/engines.js';
import { startSessionFront } from './session-front.js';
import { describeOn } from '../support/needs.js';
import { CALL_TIMES, openEmpty, type OpenedStore, openStore } from '../support/open-store.js';
import { entryOf } from '../support/store-entries.js';

/** Text that ends a literal where a backslash escapes nothing, and adds a row of its own. */
const INJECTION = "\\', 0, x'', null, null), (x'00', 'GET', '/', '[]', 'injected', 0, x'', null, null) -- ";

/** Settings of a session that the service could not work with, each with what a refusal names, as a pattern. */
const HOSTILE: readonly (readonly [variable: string, statement: string])[] = [
  ['autocommit', 'SET SESSION autocommit = 0'],
  ['_isolation', 'SET SESSION TRANSACTION ISOLATION LEVEL READ UNCOMMITTED'],
  ['sql_select_limit', 'SET SESSION sql_select_limit = 1'],
  ['sql_safe_updates', 'SET SESSION sql_safe_updates = 1'],
  ['(sql_big_selects|max_join_size)', 'SET SESSION max_join_size = 1'],
  ['unique_checks', 'SET SESSION unique_checks = 0'],
  ['foreign_key_checks', 'SET SESSION foreign_key_checks = 0'],
  ['sql_mode', "SET SESSION sql_mode = 'NO_BACKSLASH_ESCAPES,ANSI_QUOTES,PAD_CHAR_TO_FULL_LENGTH'"],
  ['character_set_client', 'SET NAMES latin1'],
  ['innodb_lock_wait_timeout', 'SET SESSION innodb_lock_wait_timeout = 100'],
  ['lock_wait_timeout', 'SET SESSION lock_wait_timeout = 100'],
  [
    '(max_execution_time|max_statement_time)',
    'SET SESSION sql_notes = 1 /*!80000 , SESSION max_execution_time = 1 */ /*M!100000 , SESSION max_statement_time = 0.001 */',
  ],
];

/** What the service does not set for calls: it says so in each of its own commits. */
const COMPLETION: readonly (readonly [variable: string, statement: string])[] = [
  ['completion_type=CHAIN', 'SET SESSION completion_type = CHAIN'],
  ['completion_type=RELEASE', "SET SESSION completion_type = 'RELEASE'"],
];

const ALL = [...HOSTILE, ...COMPLETION].map(([, statement]) => statement);
const CASES = [
  ...[...HOSTILE, ...COMPLETION].map(([name, statement]) => [name, [statement]] as const),
  ['all of them at once', ALL] as const,
];
const CREATES = 20;

/** What differs between the defaults of servers and what calls need. */
const AS_NEEDED =
  "SET NAMES utf8mb4, SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', SESSION innodb_lock_wait_timeout = 1, SESSION lock_wait_timeout = 3";

/** Creates one after the other, with look-ups in transactions between them. */
async function createSome(store: KnexRouteStore): Promise<string[]> {
  const entries = Array.from({ length: CREATES }, (_, i) =>
    entryOf({ handler: `${INJECTION}${i} '"👍`, middleware: ["it's \\"] }, { idempotencyKey: `key ${i}` }),
  );
  for (const entry of entries) {
    await expect(store.insert(entry)).resolves.toEqual({ outcome: 'inserted' });
    await expect(store.findDuplicate(entry.shape)).resolves.toBe(entry.route.id);
  }
  return entries.map(({ route }) => route.id);
}

/** How many rows there are, and how many of these ids, over a connection of its own. */
async function countIn(knex: Knex, ids: readonly string[]): Promise<{ rows: number; found: number }> {
  const store = new KnexRouteStore(knex, { duplicates: 'reject' });
  const found = await Promise.all(ids.map((id) => store.find(id)));
  const rows = await knex('routes').count<{ count: number }[]>('* as count');
  return { rows: Number(rows[0]?.count), found: found.filter((route) => route !== undefined).length };
}

describeOn(engines.slice(1))('where $name', (engine) => {
  it.each(CASES)('sets %s, no acknowledged create is lost, and migrations run', async (_, atLogin) => {
    const { location, knex: observer, port, close } = await openEmpty(engine);
    onTestFinished(close);
    const front = await startSessionFront(port, { atLogin });
    const through = { ...(location as MysqlDatabase), port: front.port };
    const migrating = openForMigrations(through);
    await expect(migrateUp(migrating)).resolves.toHaveLength(MIGRATIONS.length);
    await migrating.destroy();
    const knex = openForCalls(through, CALL_TIMES);
    await ensureSchema(knex);
    const ids = await createSome(new KnexRouteStore(knex, { duplicates: 'reject' }));
    await expect(countIn(observer, ids)).resolves.toEqual({ rows: CREATES, found: CREATES });
    await knex.destroy();
    await expect(countIn(observer, ids)).resolves.toEqual({ rows: CREATES, found: CREATES });
  });
});

describeOn(engines.slice(1))('a connection to $name', (engine) => {
  let database: OpenedStore;

  beforeAll(async () => {
    database = await openStore(engine);
  });

  afterAll(() => database.close());

  const IN_PLACE = [
    ['ignores', 'DO 0', 'whatever this service sets'],
    ['refuses', 'SET SESSION no_such_variable = 1', "since Unknown system variable 'no_such_variable'"],
  ] as const;

  describe.each(IN_PLACE)('through a proxy that %s what it sets', (_, insteadOfSet, cause) => {
    it.each(HOSTILE)(
      'is not used where it needs another %s, which the start names',
      async (name, statement) => {
        const front = await startSessionFront(database.port, {
          atLogin: [AS_NEEDED, statement],
          insteadOfSet,
        });
        const knex = database.connect(front.port);
        const started = reachOrExplain(knex, { waitMs: 20_000, log: () => undefined });
        await expect(started).rejects.toThrow(
          new RegExp(`^The database named by DATABASE_URL cannot be used: Sessions of .*${name}`, 'i'),
        );
        await expect(database.storeWith({}, knex).insert(entryOf())).rejects.toMatchObject({
          reason: 'STORE_UNAVAILABLE',
          cause: expect.objectContaining({ name: 'UnfitSession' }) as unknown,
        });
        await expect.poll(() => front.clients()).toBe(0);
      },
    );

    it('is not used where it needs another lock_wait_timeout, and the start says why it lacks it', async () => {
      const atLogin = [AS_NEEDED, 'SET SESSION lock_wait_timeout = 100'];
      const front = await startSessionFront(database.port, { atLogin, insteadOfSet });
      const started = reachOrExplain(database.connect(front.port), { waitMs: 20_000, log: () => undefined });
      await expect(started).rejects.toThrow(`lack lock_wait_timeout=3, ${cause}`);
    });

    it('is used where its defaults are as the service needs them', async () => {
      const front = await startSessionFront(database.port, { atLogin: [AS_NEEDED], insteadOfSet });
      const store = database.storeWith({}, database.connect(front.port));
      await expect(store.insert(entryOf())).resolves.toEqual({ outcome: 'inserted' });
    });
  });

  it('is not used while it has an open transaction from its login', async () => {
    const front = await startSessionFront(database.port, { atLogin: ['BEGIN'] });
    const started = reachOrExplain(database.connect(front.port), { waitMs: 20_000, log: () => undefined });
    await expect(started).rejects.toThrow('are within a transaction that this service has not begun');
  });

  it('reads nothing that is not committed, where the server does', async () => {
    const front = await startSessionFront(database.port, {
      atLogin: ['SET SESSION TRANSACTION ISOLATION LEVEL READ UNCOMMITTED'],
    });
    const store = database.storeWith({}, database.connect(front.port));
    const foreign = await createConnection({ uri: database.url });
    onTestFinished(() => foreign.end());
    const entry = entryOf({}, { idempotencyKey: 'uncommitted' });
    await foreign.query('BEGIN');
    await foreign.query(insertOf([tupleOf(entry, mysqlEngine)], mysqlEngine));
    await expect(store.findByIdempotencyKey('me', 'uncommitted')).resolves.toBeUndefined();
    await foreign.query('COMMIT');
    await expect(store.findByIdempotencyKey('me', 'uncommitted')).resolves.toEqual(entry.route);
  });

  it('acknowledges no create that the server executed within a transaction, and is not used again', async () => {
    const beforeInsert = ['BEGIN'];
    const front = await startSessionFront(database.port, { beforeInsert });
    const store = database.storeWith({}, database.connect(front.port));
    const entry = entryOf();
    await expect(store.insert(entry)).rejects.toMatchObject({ reason: 'STORE_UNAVAILABLE' });
    await expect.poll(() => front.clients()).toBe(0);
    beforeInsert.length = 0;
    await expect(store.insert(entry)).resolves.toEqual({ outcome: 'inserted' });
    await expect(database.store.find(entry.route.id)).resolves.toEqual(entry.route);
  });

  it('acknowledges no repeat as a create where a proxy drops the ids of answers', async () => {
    const front = await startSessionFront(database.port, { dropsInsertIds: true });
    const store = database.storeWith({}, database.connect(front.port));
    const create = () => entryOf({}, { idempotencyKey: 'without ids' });
    const entry = create();
    await expect(store.insert(entry)).resolves.toEqual({ outcome: 'inserted' });
    await expect(store.insert(create())).resolves.toEqual({ outcome: 'repeated', route: entry.route });
  });

  it('needs no setting for the text of an INSERT, which stores no row of its own making', async () => {
    const connection = await createConnection({ uri: database.url, charset: 'latin1' });
    onTestFinished(() => connection.end());
    await connection.query("SET NAMES latin1, SESSION sql_mode = 'NO_BACKSLASH_ESCAPES,ANSI_QUOTES'");
    const entry = entryOf({ handler: `${INJECTION}👍`, middleware: ['中'] });
    await connection.query(insertOf([tupleOf(entry, mysqlEngine)], mysqlEngine));
    await expect(database.store.find(entry.route.id)).resolves.toEqual(entry.route);
    await expect(database.knex('routes').where('handler', 'injected')).resolves.toEqual([]);
  });
});
