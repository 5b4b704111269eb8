import { DEADLINE_PASSED, RegistryError } from '../registry/errors.js';
import {
  AWAY_NUMBERS,
  FIRST_SERVER_ERROR,
  OUT_OF_REACH_NUMBERS,
  TIMED_OUT_NUMBERS,
  TRANSIENT_NUMBERS,
  WRONG_SERVER_NUMBERS,
} from './error-numbers.js';

/** The name of Knex's error for a connection or an answer that did not arrive in time. */
const TIMEOUT = 'KnexTimeoutError';

type Codes = ReadonlySet<string | undefined>;

/** Codes of Node's sockets and of mysql2 for a lost connection, whatever was in progress on it. */
const LOST_CODES: Codes = new Set(['ECONNRESET', 'EPIPE', 'PROTOCOL_CONNECTION_LOST']);

/** Codes for a database that cannot be reached. */
const AWAY_CODES: Codes = new Set([
  ...LOST_CODES,
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ETIMEDOUT',
]);

/** Codes of mysql2 for a server that is not trusted, or has no TLS. Its next certificate may be valid. */
const DISTRUST_CODES: Codes = new Set(['HANDSHAKE_SSL_ERROR', 'HANDSHAKE_NO_SSL_SUPPORT']);

/** Result codes of SQLite for a file that is busy or cannot be used; extended codes begin with these. */
const AWAY_SQLITE = /^SQLITE_(?:BUSY|LOCKED|IOERR|FULL|READONLY|CANTOPEN)/;

/** Whether the database refused what the statement holds, for example because a key exists: nothing was stored. */
export function isRefusal(error: unknown): boolean {
  const { errno = 0, code = '' } = facts(error);
  const unfit = AWAY_NUMBERS.has(errno) || TIMED_OUT_NUMBERS.has(errno);
  return (errno >= FIRST_SERVER_ERROR && !unfit) || code.startsWith('SQLITE_CONSTRAINT');
}

/**
 * Whether the same statement may succeed a moment later, if need be over another connection. It may also have succeeded
 * already, without an answer.
 */
export function isTransient(error: unknown): boolean {
  const { errno, code } = facts(error);
  return TRANSIENT_NUMBERS.has(errno) || LOST_CODES.has(code);
}

/** Whether the connection leads to a server that cannot serve, so that older connections will not either. */
export function isWrongServer(error: unknown): boolean {
  return WRONG_SERVER_NUMBERS.has(facts(error).errno);
}

/** Whether a later attempt to reach the database may succeed, unlike one whose login it refuses. */
export function isOutOfReach(error: unknown): boolean {
  const { errno, code, name } = facts(error);
  return AWAY_CODES.has(code) || OUT_OF_REACH_NUMBERS.has(errno) || name === TIMEOUT || isBusy(error);
}

/** Whether another process held the embedded database for longer than a statement waits. */
export function isBusy(error: unknown): boolean {
  return facts(error).code?.startsWith('SQLITE_BUSY') === true;
}

/**
 * The error of the database or its driver, without the statement and its values. It has no stack: that would end in the
 * driver, and there may be many in a second.
 */
export class DatabaseError extends Error {
  override readonly name = 'DatabaseError';
  /** The code of the server, of Node's sockets or of SQLite: `ER_DUP_ENTRY`, `ECONNREFUSED` or `SQLITE_BUSY`. */
  readonly code: string | undefined;
  /** The server's error number, such as 1062, or a lower one of the operating system. */
  readonly errno: number | undefined;

  /**
   * Without a code and a number, there was no answer in time.
   *
   * @param address `host:port`; undefined for the embedded database
   */
  constructor({ code, errno }: Pick<DriverError, 'code' | 'errno'>, address?: string) {
    const silent = code === undefined && errno === undefined;
    const answer = silent ? 'nothing in time' : (code ?? 'an error without a name');
    const database = address === undefined ? 'The database' : `The database at ${address}`;
    super(`${database} answered ${answer} (${errno ?? 'no number'}).`);
    delete this.stack;
    this.code = code;
    this.errno = errno;
  }
}

/**
 * A driver's error in the form for the rest of the service and the log: `STORE_UNAVAILABLE` for a database that is
 * unavailable, `DEADLINE_EXCEEDED` for a statement that the server has stopped for its time, and never the statement or
 * its values, which are in the messages of Knex and the drivers.
 *
 * @param address `host:port` of the database; undefined for the embedded one
 */
export function translate(error: unknown, address?: string): unknown {
  const { errno, code, name } = facts(error);
  const timedOut = name === TIMEOUT;
  if (code === undefined && errno === undefined && !timedOut) return error;
  const bare = new DatabaseError(timedOut ? {} : { code, errno }, address);
  if (TIMED_OUT_NUMBERS.has(errno))
    return new RegistryError('DEADLINE_EXCEEDED', DEADLINE_PASSED, { cause: bare });
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
  readonly errno?: number | undefined;
  readonly code?: string | undefined;
  readonly name?: string | undefined;
}

function facts(error: unknown): DriverError {
  return typeof error === 'object' && error !== null ? error : {};
}
