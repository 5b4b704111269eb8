import { connect, isIP, type Socket } from 'node:net';
import createKnex, { type Knex } from 'knex';
import type { ResultSetHeader } from 'mysql2';
import type { MysqlDatabase, MysqlTls } from '../../settings/database-url.js';
import { classify } from '../driver-errors.js';
import { ACQUIRE_TIMEOUT_MS, isDiscarded, SILENT_LOGGER } from '../pool.js';
import type { Row } from '../route-columns.js';
import { emptyInsert } from '../route-sql.js';
import type { Engine } from './engine.js';
import { lacksGrant } from './mysql-errors.js';
import { underNamedLock } from './mysql-lock.js';
import {
  requireNoTransaction,
  SESSION_FOR_MIGRATIONS,
  sessionForCalls,
  setUpSession,
  type Variables,
} from './mysql-session.js';

/** The time limit of a connection attempt, in milliseconds. */
const CONNECT_TIMEOUT_MS = 2_000;
/** The most connections: a process on two cores cannot keep more of them busy. */
const POOL_MAX = 10;

/** MySQL and MariaDB. */
export const mysqlEngine: Engine<MysqlDatabase> = {
  client: 'mysql2',
  isShared: true,

  openForCalls: (location, { deadlineMs, silenceMs }) =>
    openMysql(location, { session: sessionForCalls(deadlineMs), silenceMs }),
  openForMigrations: (location) => openMysql(location, { session: SESSION_FOR_MIGRATIONS, silenceMs: 0 }),
  prepareClose: () => Promise.resolve(),

  textLiteral: (hex) => `_utf8mb4 x'${hex}'`,
  // A plain insert would refuse the whole batch. The answer's id is 1 if a row is left out (`hasStoredAll`). Unlike
  // `insert ignore`, it still refuses a value that is too long.
  onConflict: 'on duplicate key update id = if(last_insert_id(1), id, id)',
  updateWherePossible: 'update ignore',
  // Whatever its `completion_type`: no other transaction follows, and the connection stays.
  commit: 'commit and no chain no release',
  requireCommitted(answer) {
    // Behind a proxy, this server need not be the server whose session was read back.
    requireNoTransaction((answer as [ResultSetHeader])[0]);
  },
  // A row that is left out sets the id to 1, and is not counted. Both are tested, since a proxy may drop the id, or set
  // FOUND_ROWS, with which rows that are left out count as well. An answer that is misread as "some" costs one look-up.
  hasStoredAll(answer, rows) {
    const [{ insertId, affectedRows }] = answer as [ResultSetHeader];
    return insertId === 0 && affectedRows === rows;
  },
  rowsIn: (answer) => (answer as [Row[]])[0],

  requireGrants,
  underLock: underNamedLock,
};

interface MysqlConnection {
  readonly stream: Socket;
  on(event: 'error', listener: () => void): void;
  query(sql: string, done: (error: Error | null, answer: unknown) => void): void;
  /** Closes the connection at once, which ends its transaction. */
  destroy(): void;
}

interface MysqlUse {
  readonly session: Variables;
  /** How long a connection may stay silent before it is dropped, in milliseconds; 0 for any time. */
  readonly silenceMs: number;
}

function openMysql(
  { host, port, socket, user, password, database, tls }: MysqlDatabase,
  { session, silenceMs }: MysqlUse,
): Knex {
  // Behind a load balancer, a new connection leads to the server that has taken over. An old connection may still lead
  // to the previous server, which refuses inserts and lacks the latest routes. So once a statement has reached the
  // wrong server, the pool replaces all connections that were opened before.
  let usable = new WeakSet();
  const knex = createKnex({
    client: 'mysql2',
    log: SILENT_LOGGER,
    // No error's text leaves the store; to write the values into it would cost more than the statement.
    compileSqlOnError: false,
    connection: {
      ...(tls === undefined ? { host } : tlsOptions(tls, host, port)),
      port,
      // With a path, mysql2 ignores host and port.
      socketPath: socket,
      user,
      password,
      database,
      charset: 'utf8mb4',
      timezone: 'Z',
      // An `INSERT` counts the rows that it stores, without those that it leaves out.
      flags: ['-FOUND_ROWS'],
      connectTimeout: CONNECT_TIMEOUT_MS,
    },
    acquireConnectionTimeout: ACQUIRE_TIMEOUT_MS,
    pool: {
      min: 0,
      max: POOL_MAX,
      validate: (connection: MysqlConnection) => usable.has(connection) && !isDiscarded(connection),
      afterCreate: (connection: MysqlConnection, done: (error: Error | null) => void) => {
        usable.add(connection);
        // Knex listens only until it has asked the connection to end, and an error without a listener ends the process.
        connection.stream.prependListener('error', () => {
          connection.on('error', () => undefined);
        });
        // mysql2 would wait forever on a connection that the network has lost.
        connection.stream.setTimeout(silenceMs, () => {
          connection.stream.destroy(
            Object.assign(new Error('The database is silent.'), { code: 'ETIMEDOUT' }),
          );
        });
        setUpSession(session, queryOn(connection)).then(
          () => {
            done(null);
          },
          (error: unknown) => {
            // Knex forgets a connection that fails here, but leaves it open.
            connection.destroy();
            done(error as Error);
          },
        );
      },
    },
  });
  knex.on('query-error', (error: unknown) => {
    if (classify(error).kind === 'wrong server') usable = new WeakSet();
  });
  knex.userParams = { address: socket ?? (host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`) };
  return knex;
}

function queryOn(connection: MysqlConnection): (statement: string) => Promise<unknown> {
  return (statement) =>
    new Promise((resolve, reject) => {
      connection.query(statement, (error, answer) => {
        if (error === null) resolve(answer);
        else reject(error);
      });
    });
}

/** The options of mysql2 for TLS, and for the host that it checks. */
interface DriverOptions {
  readonly ssl: object;
  readonly host: string;
  readonly stream?: () => Socket;
}

/** The options that make mysql2 verify the server before it sends the login. */
function tlsOptions({ ca, checksHost, cert, key }: MysqlTls, host: string, port: number): DriverOptions {
  const ssl = { ca, cert, key, verifyIdentity: checksHost, minVersion: 'TLSv1.2' };
  if (isIP(host) === 0) return { ssl, host };
  // For an IP address, mysql2 passes no server name, and Node then checks the certificate for "localhost". The final
  // dot, as in an absolute name, makes mysql2 pass the address; Node's check drops the dot and recognizes the address.
  return { ssl, host: `${host}.`, stream: () => connect({ host, port, noDelay: true, keepAlive: true }) };
}

/** Explains an `INSERT`, for which the user needs the same grants, and which changes nothing. */
async function requireGrants(knex: Knex): Promise<void> {
  try {
    await knex.raw(`explain ${emptyInsert(mysqlEngine)}`);
  } catch (error) {
    // Whatever else is wrong, perhaps for a moment, is not the user's lack of a grant.
    if (lacksGrant(error)) throw error;
  }
}
