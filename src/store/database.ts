import type { Socket } from 'node:net';
import createKnex, { type Knex } from 'knex';
import type { MysqlTls } from '../settings/mysql-tls.js';
import { isBusy } from './driver-errors.js';
import { FreshConnections } from './fresh-connections.js';
import { tlsOptions } from './mysql-tls.js';
import { requireWritable } from './writable-file.js';

/** How long a call waits for a free connection, in milliseconds: less than the default deadline of a call. */
const ACQUIRE_TIMEOUT_MS = 3_000;
/** The time limit of a connection attempt, in milliseconds. */
const CONNECT_TIMEOUT_MS = 2_000;
/** The most connections to MySQL: a process on two cores cannot keep more of them busy. */
const POOL_MAX = 10;
/** How long a writer waits for another process's write to the embedded database, in milliseconds. */
const BUSY_TIMEOUT_MS = 2_000;

/** Where the routes are stored. */
export type DatabaseLocation = MysqlLocation | SqliteLocation;

/** A database of a MySQL or MariaDB server. */
export interface MysqlLocation {
  readonly engine: 'mysql';
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly password: string;
  readonly database: string;
  /** Default: no TLS. */
  readonly tls?: MysqlTls | undefined;
}

/** The embedded database: `file` is a path, or `:memory:`. */
export interface SqliteLocation {
  readonly engine: 'sqlite';
  readonly file: string;
}

/**
 * Opens the database. The embedded database is created, with its folder, if it does not exist. For MySQL, the first
 * query connects. `closeDatabase` must be called at the end.
 *
 * @param silenceMs how long MySQL may stay silent before its connection is dropped, in milliseconds; default: 0, no
 *   limit, since a migration may take long
 * @throws Error when the files of the embedded database cannot be written
 */
export function openDatabase(location: DatabaseLocation, silenceMs = 0): Knex {
  return location.engine === 'mysql' ? openMysql(location, silenceMs) : openEmbedded(location);
}

/** Connections that no pool uses again. */
const discarded = new WeakSet<object>();

/** Makes the pool replace a connection that it lent, once it is released. */
export function discard(connection: object): void {
  discarded.add(connection);
}

/** `host:port` of a database that `openDatabase` has opened; undefined for the embedded one. */
export function addressOf(knex: Knex): string | undefined {
  return (knex.userParams as { readonly address?: string } | undefined)?.address;
}

/** Closes all connections. The file of the embedded database is then complete, and its write-ahead log is empty. */
export async function closeDatabase(knex: Knex, { engine }: DatabaseLocation): Promise<void> {
  // If the checkpoint fails, for example on a full disk, nothing is lost: the log stays next to the file.
  if (engine === 'sqlite') await knex.raw('PRAGMA wal_checkpoint(TRUNCATE)').catch(ignore);
  await knex.destroy();
}

/** Keeps Knex from printing SQL to the console; failures are thrown anyway. */
const SILENT: Knex.Logger = { warn: ignore, error: ignore, deprecate: ignore, debug: ignore };

function ignore(): void {
  return undefined;
}

interface MysqlConnection {
  readonly stream: Socket;
  query(sql: string, done: (error: Error | null) => void): void;
}

function openMysql({ host, port, user, password, database, tls }: MysqlLocation, silenceMs: number): Knex {
  const fresh = new FreshConnections();
  const knex = createKnex({
    client: 'mysql2',
    log: SILENT,
    // No error's text leaves the store; to write the values into it would cost more than the statement.
    compileSqlOnError: false,
    connection: {
      ...(tls === undefined ? { host } : tlsOptions(tls, host, port)),
      port,
      user,
      password,
      database,
      charset: 'utf8mb4',
      timezone: 'Z',
      connectTimeout: CONNECT_TIMEOUT_MS,
    },
    acquireConnectionTimeout: ACQUIRE_TIMEOUT_MS,
    pool: {
      min: 0,
      max: POOL_MAX,
      validate: (connection: MysqlConnection) => fresh.has(connection) && !discarded.has(connection),
      afterCreate: (connection: MysqlConnection, done: (error: Error | null) => void) => {
        fresh.opened(connection);
        // mysql2 would wait forever on a connection that the network has lost.
        connection.stream.setTimeout(silenceMs, () => {
          connection.stream.destroy(
            Object.assign(new Error('The database is silent.'), { code: 'ETIMEDOUT' }),
          );
        });
        // Overrides the server's defaults: text is kept as sent, and values that are too long or invalid are refused,
        // not truncated.
        connection.query(
          "SET NAMES utf8mb4, SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION'",
          done,
        );
      },
    },
  });
  fresh.follow(knex);
  knex.userParams = { address: host.includes(':') ? `[${host}]:${port}` : `${host}:${port}` };
  return knex;
}

interface SqliteConnection {
  pragma(text: string): unknown;
}

function openEmbedded({ file: filename }: SqliteLocation): Knex {
  if (filename !== ':memory:') requireWritable(filename);
  let usable = true;
  const knex = createKnex({
    // libsql, installed under the name by which Knex loads this interface.
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
        usable = true;
        connection.pragma(`busy_timeout = ${BUSY_TIMEOUT_MS}`);
        connection.pragma('journal_mode = WAL');
        // Every commit reaches the disk, as with InnoDB's default.
        connection.pragma('synchronous = FULL');
        done(null);
      },
    },
  });
  // After a statement that did not get the lock, libsql reports further writes as successful without committing them.
  knex.on('query-error', (error: unknown) => {
    if (isBusy(error)) usable = false;
  });
  return knex;
}
