import { connect, isIP, type Socket } from 'node:net';
import createKnex, { type Knex } from 'knex';
import type { Database, MysqlDatabase, MysqlTls } from '../settings/database-url.js';
import { classify } from './driver-errors.js';
import { requireWritable } from './embedded-file.js';
import { SESSION_FOR_MIGRATIONS, sessionForCalls, setUpSession, type Variables } from './session.js';

/** How long a call waits for a free connection, in milliseconds: less than the default deadline of a call. */
const ACQUIRE_TIMEOUT_MS = 3_000;
/** The time limit of a connection attempt, in milliseconds. */
const CONNECT_TIMEOUT_MS = 2_000;
/** The most connections to MySQL: a process on two cores cannot keep more of them busy. */
const POOL_MAX = 10;
/** How long a migration, or what opens or closes the embedded database, waits for another process, in milliseconds. */
const BUSY_TIMEOUT_MS = 2_000;
/**
 * How long the statement of a call does, in milliseconds. Its driver blocks the whole process meanwhile, so the statement
 * is sent again instead.
 */
const BUSY_TIMEOUT_OF_CALLS_MS = 10;

/**
 * Opens the database to serve calls. The embedded database is created, with its folder, if it does not exist. For MySQL,
 * the first query connects. `closeDatabase` must be called at the end.
 *
 * @throws Error when the files of the embedded database cannot be written
 */
export function openForCalls(database: Database, { deadlineMs, silenceMs }: CallTimes): Knex {
  if (database.engine === 'sqlite') return openEmbedded(database.file, BUSY_TIMEOUT_OF_CALLS_MS);
  return openMysql(database, { session: sessionForCalls(deadlineMs), silenceMs });
}

/** How long calls and their connections may take, in milliseconds. */
interface CallTimes {
  /** The longest time of a call. */
  readonly deadlineMs: number;
  /**
   * How long a connection to MySQL may stay silent before it is dropped: longer than any statement waits for a lock, so
   * that the server says that there is one.
   */
  readonly silenceMs: number;
}

/**
 * Opens the database to migrate it, as `openForCalls` does, but without limits of time, since a migration may take long.
 *
 * @throws Error when the files of the embedded database cannot be written
 */
export function openForMigrations(database: Database): Knex {
  if (database.engine === 'sqlite') return openEmbedded(database.file, BUSY_TIMEOUT_MS);
  return openMysql(database, { session: SESSION_FOR_MIGRATIONS, silenceMs: 0 });
}

/** Connections that no pool uses again. */
const discarded = new WeakSet<object>();

/** Makes the pool replace a connection that it lent, once it is released. MySQL's ends at once, with its transaction. */
export function discard(connection: object): void {
  discarded.add(connection);
  (connection as Partial<MysqlConnection>).destroy?.();
}

/** `host:port`, or the path of the socket, of a database that is open; undefined for the embedded one. */
export function addressOf(knex: Knex): string | undefined {
  return (knex.userParams as { readonly address?: string } | undefined)?.address;
}

/** The engines: MySQL or MariaDB, and the embedded one. */
export type Engine = Database['engine'];

/** By the names of Knex, under one of which libsql is installed. */
const ENGINES: Readonly<Record<string, Engine>> = { mysql2: 'mysql', 'better-sqlite3': 'sqlite' };

/** The engine of an open database, or of a transaction in it. */
export function engineOf(knex: Knex): Engine {
  const { client } = (knex.client as Knex.Client).config;
  const engine = ENGINES[String(client)];
  if (engine === undefined)
    throw new Error(`Knex has opened no database of this service: ${String(client)}.`);
  return engine;
}

/** Closes all connections. The file of the embedded database is then complete, and its write-ahead log is empty. */
export async function closeDatabase(knex: Knex): Promise<void> {
  // If the checkpoint fails, for example on a full disk, nothing is lost: the log stays next to the file.
  if (engineOf(knex) === 'sqlite') {
    await knex.raw(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`).catch(ignore);
    await knex.raw('PRAGMA wal_checkpoint(TRUNCATE)').catch(ignore);
  }
  await knex.destroy();
}

/** Keeps Knex from printing SQL to the console; failures are thrown anyway. */
const SILENT: Knex.Logger = { warn: ignore, error: ignore, deprecate: ignore, debug: ignore };

function ignore(): void {
  return undefined;
}

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
  // Behind a load balancer, a new connection leads to the server that has taken over. An old one may still lead to the
  // previous server, which refuses inserts and lacks the latest routes. So once a statement has reached the wrong server,
  // the pool replaces all connections that were opened before.
  let usable = new WeakSet();
  const knex = createKnex({
    client: 'mysql2',
    log: SILENT,
    // No error's text leaves the store; to write the values into it would cost more than the statement.
    compileSqlOnError: false,
    connection: {
      ...(tls === undefined ? { host } : tlsOptions(tls, host, port)),
      port,
      // With a path, mysql2 ignores host and port.
      ...(socket !== undefined && { socketPath: socket }),
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
      validate: (connection: MysqlConnection) => usable.has(connection) && !discarded.has(connection),
      afterCreate: (connection: MysqlConnection, done: (error: Error | null) => void) => {
        usable.add(connection);
        // Knex listens only until it has asked the connection to end, and an error without a listener ends the process.
        connection.stream.prependListener('error', () => {
          connection.on('error', ignore);
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

interface SqliteConnection {
  pragma(text: string): unknown;
  close(): void;
}

/** @param busyMs how long a statement waits for a lock of another process, in milliseconds */
function openEmbedded(filename: string, busyMs: number): Knex {
  if (filename !== ':memory:') requireWritable(filename);
  let usable = true;
  // Calls wait only once the database is open.
  let openingMs = BUSY_TIMEOUT_MS;
  const knex = createKnex({
    client: 'better-sqlite3',
    log: SILENT,
    compileSqlOnError: false,
    connection: { filename },
    useNullAsDefault: true,
    acquireConnectionTimeout: ACQUIRE_TIMEOUT_MS,
    pool: {
      min: 1,
      max: 1,
      validate: (connection: SqliteConnection) => usable && !discarded.has(connection),
      afterCreate: (connection: SqliteConnection, done: (error: Error | null) => void) => {
        try {
          connection.pragma(`busy_timeout = ${openingMs}`);
          connection.pragma('journal_mode = WAL');
          // Every commit reaches the disk, as with InnoDB's default.
          connection.pragma('synchronous = FULL');
          connection.pragma(`busy_timeout = ${busyMs}`);
        } catch (error) {
          // Knex forgets a connection that fails here, but leaves it open.
          connection.close();
          done(error as Error);
          return;
        }
        usable = true;
        openingMs = busyMs;
        done(null);
      },
    },
  });
  // After a statement that did not get the lock, libsql reports further writes as successful without committing them.
  knex.on('query-error', (error: unknown) => {
    if (classify(error).kind === 'busy') usable = false;
  });
  return knex;
}

/** The options of mysql2 for TLS, and for the host that it checks. */
interface DriverOptions {
  readonly ssl: object;
  readonly host: string;
  readonly stream?: () => Socket;
}

/** The options that make mysql2 verify the server before it sends the login. */
function tlsOptions({ ca, checksHost, cert, key }: MysqlTls, host: string, port: number): DriverOptions {
  const ssl = {
    ...(ca !== undefined && { ca }),
    verifyIdentity: checksHost,
    minVersion: 'TLSv1.2',
    ...(cert !== undefined && key !== undefined && { cert, key }),
  };
  if (isIP(host) === 0) return { ssl, host };
  // For an IP address, mysql2 passes no server name, and Node then checks the certificate for "localhost". The final
  // dot, as in an absolute name, makes mysql2 pass the address; Node's check drops the dot and recognizes the address.
  return { ssl, host: `${host}.`, stream: () => connect({ host, port, noDelay: true, keepAlive: true }) };
}

/** The connections of a pool, and the statements that wait for one. */
export interface PoolFigures {
  readonly used: number;
  readonly free: number;
  readonly waiting: number;
}

/** Knex's pool is tarn's. */
interface Pool {
  numUsed(): number;
  numFree(): number;
  numPendingAcquires(): number;
}

/** The current use of a database's connections; all 0 once it is closed. */
export function poolFigures(knex: Knex): PoolFigures {
  const { pool } = knex.client as { pool?: Pool };
  if (pool === undefined) return { used: 0, free: 0, waiting: 0 };
  return { used: pool.numUsed(), free: pool.numFree(), waiting: pool.numPendingAcquires() };
}
