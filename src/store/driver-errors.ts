import { DEADLINE_PASSED, Failure } from '../registry/failure.js';

/** The lowest error number of a server; lower ones come from the operating system. */
const FIRST_SERVER_ERROR = 1000;

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

/** In class 42, where most errors are bugs: the operator can mend these with a grant. */
const GRANT_NUMBERS: ReadonlySet<number | undefined> = new Set([
  ER_TABLEACCESS_DENIED_ERROR,
  ER_COLUMNACCESS_DENIED_ERROR,
]);
/** Of a row that is stored already, an `INSERT` updates the id to what it is. */
const GRANTS: Readonly<Record<string, string>> = { insert: 'INSERT or UPDATE', select: 'SELECT' };

/** The name of Knex's error for a connection or a response that did not arrive in time. */
const TIMEOUT = 'KnexTimeoutError';

/** Result codes of SQLite for a file that cannot be used; extended codes begin with these. */
const UNUSABLE_FILE = /^SQLITE_(?:LOCKED|IOERR|FULL|READONLY|CANTOPEN)/;

/** What a class of errors means for the statement. */
interface Consequences {
  /**
   * When another attempt may succeed, possibly over another connection: at once, or only when the database can be reached
   * again. Undefined if it would fail in the same way.
   */
  readonly retry?: 'at once' | 'when reached';
  /** Whether the failed attempt of an `INSERT` may have stored its rows all the same. */
  readonly mayHaveStored?: true;
  /** How callers see it; undefined if it is an error of the service, or of the call's values. */
  readonly failure?: 'STORE_UNAVAILABLE' | 'DEADLINE_EXCEEDED';
}

const UNAVAILABLE = { failure: 'STORE_UNAVAILABLE' } as const;

const CLASSES = {
  /** A value of a row, or the length of the statement. */
  'row refused': {},
  /** The statement itself; any other of this kind would be refused, too. */
  'statement refused': {},
  'login refused': UNAVAILABLE,
  /** Too many connections or statements at the moment. */
  crowded: { ...UNAVAILABLE, retry: 'when reached' },
  /** The statement exceeded the server's time limit, and a retry would take as long. */
  late: { failure: 'DEADLINE_EXCEEDED' },
  /** Somebody held a lock on a row, or on the table, for too long. */
  locked: UNAVAILABLE,
  deadlock: { ...UNAVAILABLE, retry: 'at once' },
  /** The connection, and older ones, lead to a server that cannot execute the statement. Nothing was stored. */
  'wrong server': { ...UNAVAILABLE, retry: 'at once' },
  /** The server, or a proxy before it, says only that the statement failed. */
  doubtful: { ...UNAVAILABLE, retry: 'at once', mayHaveStored: true },
  /** The connection was lost, whatever was in progress on it. */
  lost: { ...UNAVAILABLE, retry: 'at once', mayHaveStored: true },
  /** No connection, or no response in time. */
  unreachable: { ...UNAVAILABLE, retry: 'when reached' },
  /** Another process kept the embedded database locked for longer than a statement waits. */
  busy: { ...UNAVAILABLE, retry: 'at once' },
  /** The embedded database's file, or a server that is not trusted. Its next certificate may be valid. */
  unusable: UNAVAILABLE,
  /** Any other error, of a database or not. */
  other: {},
} as const satisfies Record<string, Consequences>;

type ErrorClass = keyof typeof CLASSES;

/** What an error of the database means. */
export interface Classified extends Consequences {
  readonly kind: ErrorClass;
}

/** In no class of SQLSTATE that says what they mean. */
const BY_NUMBER: ReadonlyMap<number, ErrorClass> = new Map([
  [ER_STATEMENT_TIMEOUT, 'late'],
  [ER_QUERY_TIMEOUT, 'late'],
  [ER_LOCK_WAIT_TIMEOUT, 'locked'],
  [ER_LOCK_DEADLOCK, 'deadlock'],
  [ER_TOO_MANY_USER_CONNECTIONS, 'crowded'],
  [ER_USER_LIMIT_REACHED, 'crowded'],
  [ER_DBACCESS_DENIED_ERROR, 'login refused'],
  // For example before a restore.
  [ER_BAD_DB_ERROR, 'login refused'],
  [ER_NET_PACKET_TOO_LARGE, 'row refused'],
  [ER_UNKNOWN_COM_ERROR, 'wrong server'],
  [ER_OPTION_PREVENTS_STATEMENT, 'wrong server'],
  [ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION, 'wrong server'],
  [ER_READ_ONLY_MODE, 'wrong server'],
  [ER_INNODB_READ_ONLY, 'wrong server'],
  [ER_TRANSACTION_ROLLBACK_DURING_COMMIT, 'wrong server'],
]);

/** The SQLSTATE of a server that accepts no more connections, and the classes of what stored nothing. */
const BY_STATE: ReadonlyMap<string, ErrorClass> = new Map([
  ['08004', 'crowded'],
  ['22', 'row refused'],
  // A violated constraint.
  ['23', 'row refused'],
  ['28', 'login refused'],
  // The statement's syntax or access.
  ['42', 'statement refused'],
]);

/** Codes of Node's sockets and of mysql2, once a connection is open. */
const BY_CODE: ReadonlyMap<string | undefined, ErrorClass> = new Map([
  ['ECONNRESET', 'lost'],
  ['EPIPE', 'lost'],
  ['PROTOCOL_CONNECTION_LOST', 'lost'],
  ['EHOSTUNREACH', 'unreachable'],
  ['ENETUNREACH', 'unreachable'],
  ['ETIMEDOUT', 'unreachable'],
  ['HANDSHAKE_SSL_ERROR', 'unusable'],
  ['HANDSHAKE_NO_SSL_SUPPORT', 'unusable'],
]);

/** Says what an error of the database, of its driver or of Knex means: the one place that judges it. */
export function classify(error: unknown): Classified {
  const kind = classOf(facts(error));
  return { kind, ...CLASSES[kind] };
}

function classOf({ errno = 0, sqlState = '', code, name, syscall, errors }: DriverError): ErrorClass {
  // Most errors of servers have the generic SQLSTATE `HY000`, or none.
  if (errno >= FIRST_SERVER_ERROR)
    return BY_NUMBER.get(errno) ?? BY_STATE.get(sqlState) ?? BY_STATE.get(sqlState.slice(0, 2)) ?? 'doubtful';
  if (name === TIMEOUT) return 'unreachable';
  if (code?.startsWith('SQLITE_') === true) return classOfSqlite(code);
  // Whatever kept a connection from being opened, be it on this machine; an address may stand for several.
  if (errors !== undefined || CONNECTING.has(syscall)) return 'unreachable';
  return BY_CODE.get(code) ?? 'other';
}

/** What Node calls for a new connection. */
const CONNECTING: ReadonlySet<string | undefined> = new Set(['connect', 'getaddrinfo']);

function classOfSqlite(code: string): ErrorClass {
  if (code.startsWith('SQLITE_BUSY')) return 'busy';
  if (code.startsWith('SQLITE_CONSTRAINT')) return 'row refused';
  return UNUSABLE_FILE.test(code) ? 'unusable' : 'other';
}

/** Whether the error is one of a database or its driver. */
export function isOfDatabase(error: unknown): boolean {
  const { code, errno } = facts(error);
  return code !== undefined || errno !== undefined;
}

/** Whether the user has no grant for the statement. */
export function lacksGrant(error: unknown): boolean {
  return GRANT_NUMBERS.has(facts(error).errno);
}

/** Whether the connection to MySQL ended with this error, so that whatever is sent over it later fails as well. */
export function endsConnection(error: unknown): boolean {
  return facts(error).fatal === true;
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
    const database = address === undefined ? 'database' : `database at ${address}`;
    const verb = lacksGrant({ errno }) ? /^(?:explain )?(\w+)/.exec(sql ?? '')?.[1] : undefined;
    const grant = GRANTS[verb ?? ''];
    const remedy = grant === undefined ? '' : ` Its user lacks the grant ${grant} on the table routes.`;
    super(`${sentenceOf(database, code, errno)}${remedy}`);
    delete this.stack;
    this.code = code;
    this.errno = errno;
  }
}

function sentenceOf(database: string, code: string | undefined, errno: number | undefined): string {
  if (errno !== undefined && errno >= FIRST_SERVER_ERROR)
    return `The ${database} answered ${code ?? 'an error without a name'} (${errno}).`;
  if (code?.startsWith('SQLITE_') === true) return `The ${database} answered ${code}.`;
  const fault = code ?? errno;
  if (fault === undefined) return `The ${database} did not answer in time.`;
  return `The connection to the ${database} failed: ${fault}.`;
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
  const { errno, code, sql, name } = facts(error);
  const timedOut = name === TIMEOUT;
  if (!isOfDatabase(error) && !timedOut) return error;
  const bare = new DatabaseError(timedOut ? {} : { code, errno, sql }, address);
  const { failure } = classify(error);
  if (failure === 'DEADLINE_EXCEEDED') return new Failure(failure, DEADLINE_PASSED, { cause: bare });
  return failure === undefined ? bare : storeUnavailable(bare);
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
  /** What Node called in vain. */
  readonly syscall?: string | undefined;
  /** Why none of several addresses could be reached. */
  readonly errors?: readonly unknown[] | undefined;
  readonly fatal?: boolean | undefined;
}

function facts(error: unknown): DriverError {
  return typeof error === 'object' && error !== null ? error : {};
}
