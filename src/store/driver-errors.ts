import { RegistryError } from '../registry/errors.js';

// Server error numbers: dev.mysql.com/doc/mysql-errors, mariadb.com/kb/en/mariadb-error-codes.
const FIRST_SERVER_ERROR = 1000;
const ER_DISK_FULL = 1021;
const ER_CON_COUNT_ERROR = 1040;
const ER_DBACCESS_DENIED_ERROR = 1044;
const ER_ACCESS_DENIED_ERROR = 1045;
const ER_BAD_DB_ERROR = 1049;
const ER_SERVER_SHUTDOWN = 1053;
const ER_RECORD_FILE_FULL = 1114;
const ER_TOO_MANY_USER_CONNECTIONS = 1203;
const ER_LOCK_WAIT_TIMEOUT = 1205;
const ER_LOCK_DEADLOCK = 1213;
const ER_OPTION_PREVENTS_STATEMENT = 1290;
const ER_READ_ONLY_MODE = 1836;
const ER_CONNECTION_KILLED = 1927;
const ER_ACCOUNT_HAS_BEEN_LOCKED = 3118;
const ER_ACCOUNT_HAS_BEEN_LOCKED_MARIADB = 4151;

const AWAY_NUMBERS: ReadonlySet<number | string | undefined> = new Set([
  ER_DISK_FULL,
  ER_CON_COUNT_ERROR,
  ER_DBACCESS_DENIED_ERROR,
  ER_ACCESS_DENIED_ERROR,
  ER_BAD_DB_ERROR,
  ER_RECORD_FILE_FULL,
  ER_SERVER_SHUTDOWN,
  ER_TOO_MANY_USER_CONNECTIONS,
  ER_LOCK_WAIT_TIMEOUT,
  ER_OPTION_PREVENTS_STATEMENT,
  ER_READ_ONLY_MODE,
  ER_CONNECTION_KILLED,
  ER_ACCOUNT_HAS_BEEN_LOCKED,
  ER_ACCOUNT_HAS_BEEN_LOCKED_MARIADB,
]);

/** A server that is starting, stopping or full of connections. */
const CROWDED_NUMBERS: ReadonlySet<number | undefined> = new Set([
  ER_CON_COUNT_ERROR,
  ER_SERVER_SHUTDOWN,
  ER_TOO_MANY_USER_CONNECTIONS,
]);

/** The name of the error of Knex for a connection or an answer that did not come in time. */
const TIMEOUT = 'KnexTimeoutError';

/** Codes of Node's sockets and of mysql2 for a database that cannot be reached. */
const AWAY_CODES: ReadonlySet<number | string | undefined> = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EPIPE',
  'ETIMEDOUT',
  'PROTOCOL_CONNECTION_LOST',
]);

/** Codes of mysql2 for a server that is not the one to trust, or has no TLS. Its next certificate may be good. */
const DISTRUST_CODES: ReadonlySet<number | string | undefined> = new Set([
  'HANDSHAKE_SSL_ERROR',
  'HANDSHAKE_NO_SSL_SUPPORT',
]);

/** Result codes of SQLite for a file that is busy or cannot be used; extended codes begin with these. */
const AWAY_SQLITE = /^SQLITE_(?:BUSY|LOCKED|IOERR|FULL|READONLY|CANTOPEN)/;

/** Whether the database itself refused the statement, for example because a key exists: nothing was stored. */
export function isRefusal(error: unknown): boolean {
  const { errno = 0, code = '' } = facts(error);
  return (errno >= FIRST_SERVER_ERROR && !AWAY_NUMBERS.has(errno)) || code.startsWith('SQLITE_CONSTRAINT');
}

/** Whether the database aborted the statement in favour of another one, so that it may be retried. */
export function isDeadlock(error: unknown): boolean {
  return facts(error).errno === ER_LOCK_DEADLOCK;
}

/** Whether a later attempt to reach the database may succeed, unlike one with a login that it refuses. */
export function isOutOfReach(error: unknown): boolean {
  const { errno, code, name } = facts(error);
  return AWAY_CODES.has(code) || CROWDED_NUMBERS.has(errno) || name === TIMEOUT || isBusy(error);
}

/** Whether another process held the embedded database for longer than a statement waits. */
export function isBusy(error: unknown): boolean {
  return facts(error).code?.startsWith('SQLITE_BUSY') === true;
}

/**
 * A driver's error in the form that the rest of the service may see and log: `STORE_UNAVAILABLE` for a database that is
 * unavailable, and never the statement or its values, which Knex and the drivers put into their messages.
 */
export function translate(error: unknown): unknown {
  const { errno, code, name } = facts(error);
  const timedOut = name === TIMEOUT;
  if (code === undefined && !timedOut) return error;
  const bare = new Error(
    `The database answered ${code ?? 'with no free connection'} (${errno ?? 'no number'}).`,
  );
  const away =
    timedOut ||
    AWAY_NUMBERS.has(errno) ||
    AWAY_CODES.has(code) ||
    DISTRUST_CODES.has(code) ||
    AWAY_SQLITE.test(code ?? '');
  if (!away) return bare;
  return storeUnavailable(bare);
}

/** The database is unavailable, or too slow to provide a connection. */
export function storeUnavailable(cause: unknown): RegistryError {
  return new RegistryError('STORE_UNAVAILABLE', 'The route store is unavailable. Try again.', { cause });
}

/** The facts in errors of the drivers and Knex. */
interface DriverError {
  readonly errno?: number;
  readonly code?: string;
  readonly name?: string;
}

function facts(error: unknown): DriverError {
  return typeof error === 'object' && error !== null ? error : {};
}
