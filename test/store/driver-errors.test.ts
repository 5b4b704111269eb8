import { describe, expect, it } from 'vitest';
import { DEADLINE_PASSED } from '../../src/registry/failure.js';
import { parseDatabaseUrl } from '../../src/settings/database-url.js';
import { openForCalls } from '../../src/store/database.js';
import { classify, DatabaseError, translate } from '../../src/store/driver-errors.js';
import { KnexRouteStore } from '../../src/store/knex-route-store.js';
import { freePort } from '../support/free-port.js';
import { CALL_TIMES } from '../support/open-store.js';

describe('an unreachable database', () => {
  it('makes every method fail with STORE_UNAVAILABLE and a message without hosts and statements', async () => {
    const port = await freePort();
    const knex = openForCalls(parseDatabaseUrl(`mysql://u:p@127.0.0.1:${port}/d`), CALL_TIMES);
    const store = new KnexRouteStore(knex, { duplicates: 'reject' });
    const id = '019b7c1e-0e6e-7000-8000-000000000001';
    const route = { id, method: 'GET', path: '/', middleware: [], handler: 'h', createdAt: new Date(0) };
    const calls = [
      () => store.ping(),
      () => store.find(id),
      () => store.findByIdempotencyKey('me', 'k'),
      () => store.findDuplicate('GET /'),
      () => store.insert({ route, caller: 'me', idempotencyKey: 'k', shape: 'GET /' }),
    ];
    const results = await Promise.allSettled(calls.map((call) => call()));
    expect(results).toEqual(
      calls.map(() => ({
        status: 'rejected',
        reason: expect.objectContaining({
          reason: 'STORE_UNAVAILABLE',
          message: 'The route store is unavailable. Try again.',
          cause: new DatabaseError({ code: 'ECONNREFUSED', errno: -111 }, `127.0.0.1:${port}`),
        }) as unknown,
      })),
    );
    await knex.destroy();
  });
});

describe('a driver error', () => {
  it.each([
    ['a reset connection', { code: 'ECONNRESET' }, 'lost'],
    ['a broken pipe', { code: 'EPIPE' }, 'lost'],
    ['a lost connection', { code: 'PROTOCOL_CONNECTION_LOST' }, 'lost'],
    ['too many connections', { errno: 1040, sqlState: '08004' }, 'crowded'],
    ['a user with too many connections', { errno: 1203, sqlState: '42000' }, 'crowded'],
    ['a user who has reached a limit', { errno: 1226, sqlState: '42000' }, 'crowded'],
    ['a Galera node without its cluster', { errno: 1047, sqlState: '08S01' }, 'wrong server'],
    ['read_only', { errno: 1290, sqlState: 'HY000' }, 'wrong server'],
    ['transaction_read_only', { errno: 1792, sqlState: '25006' }, 'wrong server'],
    ['a server in read-only mode', { errno: 1836, sqlState: 'HY000' }, 'wrong server'],
    ['innodb_read_only', { errno: 1874, sqlState: 'HY000' }, 'wrong server'],
    ['a commit that a group rolled back', { errno: 3101, sqlState: '40000' }, 'wrong server'],
    ['a full disk', { errno: 1021, sqlState: 'HY000' }, 'doubtful'],
    ['a server that shuts down', { errno: 1053, sqlState: '08S01' }, 'doubtful'],
    ['an unknown error, as of Vitess without a tablet', { errno: 1105, sqlState: 'HY000' }, 'doubtful'],
    ['a network that loses packets', { errno: 1158, sqlState: '08S01' }, 'doubtful'],
    ['an error during the commit', { errno: 1180, sqlState: 'HY000' }, 'doubtful'],
    ['an interrupted query', { errno: 1317, sqlState: '70100' }, 'doubtful'],
    ['a killed connection', { errno: 1927, sqlState: '70100' }, 'doubtful'],
    ['a proxy that lost its server', { errno: 2013, sqlState: 'HY000' }, 'doubtful'],
    ['a failed replication hook', { errno: 3100, sqlState: 'HY000' }, 'doubtful'],
    ['a proxy error without SQLSTATE', { errno: 9003 }, 'doubtful'],
    ['an empty SQLSTATE', { errno: 10_058, sqlState: '' }, 'doubtful'],
    ['a lock wait timeout', { errno: 1205, sqlState: 'HY000' }, 'locked'],
    ['a deadlock', { errno: 1213, sqlState: '40001' }, 'deadlock'],
    ['a refused login', { errno: 1045, sqlState: '28000' }, 'login refused'],
    ['a database that the user may not use', { errno: 1044, sqlState: '42000' }, 'login refused'],
    ['a missing database', { errno: 1049, sqlState: '42000' }, 'login refused'],
    ['a certificate that cannot be trusted', { code: 'HANDSHAKE_SSL_ERROR' }, 'unusable'],
    ['a server without the required TLS', { code: 'HANDSHAKE_NO_SSL_SUPPORT' }, 'unusable'],
    ['a read-only embedded database', { code: 'SQLITE_READONLY_DBMOVED' }, 'unusable'],
    ['a busy embedded database', { code: 'SQLITE_BUSY' }, 'busy'],
    ['no free connection in time', { name: 'KnexTimeoutError' }, 'unreachable'],
    ['a socket that is not there', { code: 'ENOENT', errno: -2, syscall: 'connect' }, 'unreachable'],
    ['a process without free files', { code: 'EMFILE', errno: -24, syscall: 'connect' }, 'unreachable'],
    ['a machine without free ports', { code: 'EADDRNOTAVAIL', syscall: 'connect' }, 'unreachable'],
    ['a name service that fails', { code: 'EAI_FAIL', syscall: 'getaddrinfo' }, 'unreachable'],
    ['a name whose addresses all refuse', { code: 'ECONNREFUSED', errors: [] }, 'unreachable'],
  ])('for %s means that the store is unavailable', (_, facts, kind) => {
    const error = Object.assign(new Error('insert into …'), facts);
    expect(translate(error)).toMatchObject({ reason: 'STORE_UNAVAILABLE' });
    expect(classify(error).kind).toBe(kind);
  });

  it.each([
    ['MySQL', { code: 'ER_QUERY_TIMEOUT', errno: 3024, sqlState: 'HY000' }],
    [
      'MariaDB, for which mysql2 has another error name',
      { code: 'ER_STATEMENT_TIMEOUT', errno: 1969, sqlState: '70100' },
    ],
  ])('for a statement that took too long, from %s, means that the deadline has passed', (_, facts) => {
    const error = Object.assign(new Error('select …'), facts);
    expect(translate(error)).toMatchObject({
      reason: 'DEADLINE_EXCEEDED',
      message: DEADLINE_PASSED,
      cause: new DatabaseError(facts),
    });
    expect(classify(error).kind).toBe('late');
  });

  it.each([
    ['a value', { errno: 1406, sqlState: '22001' }, 'row refused'],
    ['its length', { errno: 1153, sqlState: '08S01' }, 'row refused'],
    ['a key', { errno: 1062, sqlState: '23000' }, 'row refused'],
    ['a missing value of the embedded database', { code: 'SQLITE_CONSTRAINT_NOTNULL' }, 'row refused'],
    ['a name, as all others like it,', { errno: 1146, sqlState: '42S02' }, 'statement refused'],
  ])('for a statement that is refused because of %s tells whose refusal it is', (_, facts, expected) => {
    const error = Object.assign(new Error('insert into …'), facts);
    expect(translate(error)).toBeInstanceOf(DatabaseError);
    expect(classify(error).kind).toBe(expected);
  });

  it.each([
    ['insert into routes (id) values', 'INSERT or UPDATE'],
    ['explain insert into routes (id) values', 'INSERT or UPDATE'],
    ['select id from routes where', 'SELECT'],
  ])('for a missing grant on the table names it: %s', (sql, grant) => {
    const facts = { code: 'ER_TABLEACCESS_DENIED_ERROR', errno: 1142, sqlState: '42000', sql };
    expect(translate(Object.assign(new Error(sql), facts), 'db:3306')).toMatchObject({
      message: `The database at db:3306 answered ER_TABLEACCESS_DENIED_ERROR (1142). Its user lacks the grant ${grant} on the table routes.`,
    });
  });

  it.each<[facts: { code?: string; errno?: number; [other: string]: unknown }, told: string]>([
    [{ code: 'ECONNREFUSED', syscall: 'connect' }, 'The connection to the database failed: ECONNREFUSED.'],
    [{ code: 'ECONNRESET', fatal: true }, 'The connection to the database failed: ECONNRESET.'],
    [{ code: 'SQLITE_BUSY' }, 'The database answered SQLITE_BUSY.'],
    [{ name: 'KnexTimeoutError' }, 'The database did not answer in time.'],
    [
      { code: 'ER_DATA_TOO_LONG', errno: 1406, sqlState: '22001' },
      'The database answered ER_DATA_TOO_LONG (1406).',
    ],
    [{ errno: 4025, sqlState: '23000' }, 'The database answered an error without a name (4025).'],
  ])('says what happened in a sentence, without the statement, its values and a stack: %o', (facts, told) => {
    const error = translate(Object.assign(new Error("insert into `routes` … 'secret'"), facts)) as Error;
    const bare = [error, error.cause].find((candidate) => candidate instanceof DatabaseError);
    expect(bare).toMatchObject({ message: told, code: facts.code, errno: facts.errno });
    expect(bare).not.toHaveProperty('stack');
  });

  it.each([[new TypeError('a programming error')], ['a string'], [null], [undefined]])(
    'is distinguished from %s, which is returned unchanged',
    (error) => {
      expect(translate(error)).toBe(error);
    },
  );
});
