import { DEADLINE_PASSED, Failure } from '../registry/failure.js';

/** The lowest error number of a server; lower ones come from the operating system. */
const FIRST_SERVER_ERROR = 1000;

/** The SQLSTATE class for a value that the table does not take. Nothing was stored. */
const VALUE_CLASS = '22';
/** The SQLSTATE class for a violated constraint: here always a key that exists already. Nothing was stored. */
const KEY_CLASS = '23';
/** The SQLSTATE class for errors in the statement: its syntax or access. Nothing was stored. */
const STATEMENT_CLASS = '42';
/** The SQLSTATE class for a refused login. */
const LOGIN_CLASS = '28';
/** The SQLSTATE of a server that accepts no more connections. */
const CROWDED_STATE = '08004';

type Numbers = ReadonlySet<number | undefined>;

// Named as in dev.mysql.com/doc/mysql-errors/en/server-error-reference.html and
// mariadb.com/docs/server/reference/error-codes.
const ER_DBACCESS_DENIED_ERROR = 1044;
/** The user has no grant for this kind of statement on the table, or on one of its columns. */
const ER_TABLEACCESS_DENIED_ERROR = 1142;
const ER_COLUMNACCESS_DENIED_ERROR = 1143;
/** A Galera node that is not, or no longer, part of the cluster's majority. */
const ER_UNKNOWN_COM_ERROR = 1047;
const ER_BAD_DB_ERROR = 1049;
/** The statement exceeds `max_allowed_packet`. The server closes the connection. */
const ER_NET_PACKET_TOO_LARGE = 1153;
const ER_TOO_MANY_USER_CONNECTIONS = 1203;
/** A lock on a row or on the table was not released in time. The statement was rolled back. */
const ER_LOCK_WAIT_TIMEOUT = 1205;
/** The transaction was rolled back. */
const ER_LOCK_DEADLOCK = 1213;
const ER_USER_LIMIT_REACHED = 1226;
/** `read_only` or `super_read_only`. */
const ER_OPTION_PREVENTS_STATEMENT = 1290;
/** `transaction_read_only`. */
const ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION = 1792;
const ER_READ_ONLY_MODE = 1836;
/** `innodb_read_only`, as on a reader of Aurora. */
const ER_INNODB_READ_ONLY = 1874;
/** MariaDB: `max_statement_time`. The statement was rolled back. */
const ER_STATEMENT_TIMEOUT = 1969;
/** `max_execution_time`, which MySQL applies to reads only. */
const ER_QUERY_TIMEOUT = 3024;
/** Group Replication rolled a commit back: it was in conflict, or the member is not online. */
const ER_TRANSACTION_ROLLBACK_DURING_COMMIT = 3101;

/** In class 42, but the server refuses the user, or the database does not exist, for example before a restore. */
const LOGIN_NUMBERS: Numbers = new Set([ER_DBACCESS_DENIED_ERROR, ER_BAD_DB_ERROR]);

/** In class 42, where most errors are bugs: the operator can mend these with a grant. */
const GRANT_NUMBERS: Numbers = new Set([ER_TABLEACCESS_DENIED_ERROR, ER_COLUMNACCESS_DENIED_ERROR]);

/** In class 42, but the user only has too many connections or statements at the moment. */
const CROWDED_NUMBERS: Numbers = new Set([ER_TOO_MANY_USER_CONNECTIONS, ER_USER_LIMIT_REACHED]);

/** The statement exceeded the server's time limit and stored nothing. A retry would take as long. */
const LATE_NUMBERS: Numbers = new Set([ER_STATEMENT_TIMEOUT, ER_QUERY_TIMEOUT]);

/** The server cannot execute the statement. Nothing was stored, and a new connection may lead to a server that can. */
const WRONG_SERVER_NUMBERS: Numbers = new Set([
  ER_UNKNOWN_COM_ERROR,
  ER_OPTION_PREVENTS_STATEMENT,
  ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION,
  ER_READ_ONLY_MODE,
  ER_INNODB_READ_ONLY,
  ER_TRANSACTION_ROLLBACK_DURING_COMMIT,
]);

/** Errors of a statement that certainly stored nothing, though a retry may succeed. */
const NOT_EXECUTED_NUMBERS: Numbers = new Set([...WRONG_SERVER_NUMBERS, ER_LOCK_DEADLOCK]);

/** The name of Knex's error for a connection or a response that did not arrive in time. */
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

/** Codes of mysql2 for a server that is not trusted or has no TLS. The server's next certificate may be valid. */
const DISTRUST_CODES: Codes = new Set(['HANDSHAKE_SSL_ERROR', 'HANDSHAKE_NO_SSL_SUPPORT']);

/** Result codes of SQLite for a file that is busy or cannot be used; extended codes begin with these. */
const AWAY_SQLITE = /^SQLITE_(?:BUSY|LOCKED|IOERR|FULL|READONLY|CANTOPEN)/;

/**
 * What an error of a server, or of a proxy in front of it, means. `conflict`: a key exists. `values refused`: other rows
 * may be stored. `refused`: so would be any other statement of this kind. `locked`: somebody held a lock for too long.
 * `passing`: the statement failed for now, but may have been executed all the same; most such errors have the generic
 * SQLSTATE `HY000`, or none.
 */
type Meaning =
  'conflict' | 'values refused' | 'refused' | 'login refused' | 'crowded' | 'late' | 'locked' | 'passing';

/** The meanings of errors that are no failure of the database. */
const REFUSALS: ReadonlySet<Meaning | undefined> = new Set([
  'conflict',
  'values refused',
  'refused',
] as const);

/** Undefined for errors that do not come from a server. */
function meaningOf({ errno = 0, sqlState = '', code }: DriverError): Meaning | undefined {
  if (code?.startsWith('SQLITE_CONSTRAINT') === true)
    return /_(?:UNIQUE|PRIMARYKEY)$/.test(code) ? 'conflict' : 'values refused';
  if (errno < FIRST_SERVER_ERROR) return undefined;
  const sqlClass = sqlState.slice(0, 2);
  if (LATE_NUMBERS.has(errno)) return 'late';
  if (errno === ER_LOCK_WAIT_TIMEOUT) return 'locked';
  if (CROWDED_NUMBERS.has(errno) || sqlState === CROWDED_STATE) return 'crowded';
  if (LOGIN_NUMBERS.has(errno) || sqlClass === LOGIN_CLASS) return 'login refused';
  if (sqlClass === KEY_CLASS) return 'conflict';
  if (sqlClass === VALUE_CLASS || errno === ER_NET_PACKET_TOO_LARGE) return 'values refused';
  return sqlClass === STATEMENT_CLASS ? 'refused' : 'passing';
}

/** Whether the database refused an `INSERT` because a key exists. This attempt stored nothing. */
export function isConflict(error: unknown): boolean {
  return meaningOf(facts(error)) === 'conflict';
}

/** Whether the database refused an `INSERT` because of one of its rows, or because of its length. Nothing was stored. */
export function isRefusedForRow(error: unknown): boolean {
  return meaningOf(facts(error)) === 'values refused';
}

/** Whether the statement waited in vain for a lock on a row or on the table. This attempt stored nothing. */
export function isLockWait(error: unknown): boolean {
  return meaningOf(facts(error)) === 'locked';
}

/**
 * Whether a retry of the statement may succeed, possibly over another connection. The failed attempt may also have
 * succeeded without a response.
 */
export function isTransient(error: unknown): boolean {
  const driverError = facts(error);
  return meaningOf(driverError) === 'passing' || LOST_CODES.has(driverError.code) || isBusy(error);
}

/** Whether the failed attempt of an `INSERT` may have stored its rows all the same. */
export function mayHaveStored(error: unknown): boolean {
  return isTransient(error) && !isBusy(error) && !NOT_EXECUTED_NUMBERS.has(facts(error).errno);
}

/** Whether the connection leads to a server that cannot execute the statement. Older connections may lead there too. */
export function isWrongServer(error: unknown): boolean {
  return WRONG_SERVER_NUMBERS.has(facts(error).errno);
}

/** Whether a later attempt to reach the database may succeed, unlike after a refused login. */
export function isOutOfReach(error: unknown): boolean {
  const driverError = facts(error);
  const meaning = meaningOf(driverError);
  const { code, name } = driverError;
  return (
    meaning === 'passing' ||
    meaning === 'crowded' ||
    AWAY_CODES.has(code) ||
    name === TIMEOUT ||
    isBusy(error)
  );
}

/** Says, without a final dot, why the database cannot be used at the start. */
export function troubleWith(error: unknown): string {
  const driverError = facts(error);
  if (meaningOf(driverError) === 'login refused')
    return 'The database named by DATABASE_URL refuses the login';
  return AWAY_CODES.has(driverError.code) || driverError.name === TIMEOUT
    ? 'The database named by DATABASE_URL cannot be reached'
    : 'The database named by DATABASE_URL cannot be used';
}

/** Whether the connection to MySQL ended with this error, so that whatever is sent over it later fails as well. */
export function endsConnection(error: unknown): boolean {
  return facts(error).fatal === true;
}

/** Whether another process kept the embedded database locked for longer than a statement waits. */
export function isBusy(error: unknown): boolean {
  return facts(error).code?.startsWith('SQLITE_BUSY') === true;
}

/**
 * An error of the database or its driver, without the statement and its values. It has no stack: a stack would show
 * only the driver, and there may be many errors per second.
 */
export class DatabaseError extends Error {
  override readonly name = 'DatabaseError';
  /** The code of the server, of Node's sockets or of SQLite: `ER_DUP_ENTRY`, `ECONNREFUSED` or `SQLITE_BUSY`. */
  readonly code: string | undefined;
  /** The server's error number, such as 1062, or a lower one of the operating system. */
  readonly errno: number | undefined;

  /**
   * An error without a code and a number means that there was no response in time.
   *
   * @param address `host:port`; undefined for the embedded database
   */
  constructor({ code, errno, sql }: Pick<DriverError, 'code' | 'errno' | 'sql'>, address?: string) {
    const silent = code === undefined && errno === undefined;
    const answer = silent ? 'nothing in time' : (code ?? 'an error without a name');
    const database = address === undefined ? 'The database' : `The database at ${address}`;
    const grant = GRANT_NUMBERS.has(errno) ? /^\w+/.exec(sql ?? '')?.[0].toUpperCase() : undefined;
    const remedy = grant === undefined ? '' : ` Its user lacks the grant ${grant} on the table routes.`;
    super(`${database} answered ${answer} (${errno ?? 'no number'}).${remedy}`);
    delete this.stack;
    this.code = code;
    this.errno = errno;
  }
}

/** The sessions of MySQL are not as the service needs them, so it does not use them. */
export class UnfitSession extends Error {
  override readonly name = 'UnfitSession';

  /** @param fault what is wrong with the sessions, as a clause without its subject */
  constructor(fault: string) {
    super(`Sessions of the database ${fault}.`);
    delete this.stack;
  }
}

/**
 * Translates a driver's error for the rest of the service and the log: to `STORE_UNAVAILABLE` if the database is
 * unavailable, to `DEADLINE_EXCEEDED` if the server stopped the statement at its time limit, and otherwise to a
 * `DatabaseError`. None of them holds the statement or its values, unlike the messages of Knex and the drivers. Returns
 * any other error unchanged.
 *
 * @param address `host:port` of the database; undefined for the embedded one
 */
export function translate(error: unknown, address?: string): unknown {
  if (error instanceof UnfitSession) return storeUnavailable(error);
  const driverError = facts(error);
  const { errno, code, sql, name } = driverError;
  const timedOut = name === TIMEOUT;
  if (code === undefined && errno === undefined && !timedOut) return error;
  const bare = new DatabaseError(timedOut ? {} : { code, errno, sql }, address);
  const meaning = meaningOf(driverError);
  if (meaning === 'late') return new Failure('DEADLINE_EXCEEDED', DEADLINE_PASSED, { cause: bare });
  if (meaning !== undefined) return REFUSALS.has(meaning) ? bare : storeUnavailable(bare);
  const away = timedOut || AWAY_CODES.has(code) || DISTRUST_CODES.has(code) || AWAY_SQLITE.test(code ?? '');
  return away ? storeUnavailable(bare) : bare;
}

/** The error for a database that is unavailable, or too slow to provide a connection. */
export function storeUnavailable(cause: unknown): Failure {
  return new Failure('STORE_UNAVAILABLE', 'The route store is unavailable. Try again.', { cause });
}

/** The fields of errors from the drivers and Knex. */
interface DriverError {
  readonly errno?: number | undefined;
  readonly sqlState?: string | undefined;
  readonly code?: string | undefined;
  readonly name?: string | undefined;
  /** The statement. */
  readonly sql?: string | undefined;
  readonly fatal?: boolean | undefined;
}

function facts(error: unknown): DriverError {
  return typeof error === 'object' && error !== null ? error : {};
}
