import { type DriverError, type EngineErrors, type ErrorClass, fieldsOfError } from '../error-classes.js';

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

/** Codes of mysql2. */
const BY_CODE: ReadonlyMap<string | undefined, ErrorClass> = new Map([
  ['PROTOCOL_CONNECTION_LOST', 'lost'],
  ['HANDSHAKE_SSL_ERROR', 'unusable'],
  ['HANDSHAKE_NO_SSL_SUPPORT', 'unusable'],
]);

/** The errors of MySQL and MariaDB, and of mysql2. */
export const mysqlErrors: EngineErrors = {
  classOf({ errno = 0, sqlState = '', code }) {
    return errno < FIRST_SERVER_ERROR ? BY_CODE.get(code) : classOfServerError(errno, sqlState);
  },

  answerIn(error) {
    const { errno = 0, code = 'an error without a name' } = error;
    if (errno < FIRST_SERVER_ERROR) return undefined;
    const answer = `${code} (${errno})`;
    const grant = missingGrant(error);
    return grant === undefined ? answer : `${answer}. Its user lacks the grant ${grant} on the table routes`;
  },
};

/** Most errors of servers have the generic SQLSTATE `HY000`, or none. */
function classOfServerError(errno: number, sqlState: string): ErrorClass {
  return BY_NUMBER.get(errno) ?? BY_STATE.get(sqlState) ?? BY_STATE.get(sqlState.slice(0, 2)) ?? 'doubtful';
}

/** The grant that the user lacks for a statement, if that is the error. */
function missingGrant({ errno, sql = '' }: DriverError): string | undefined {
  if (!GRANT_NUMBERS.has(errno)) return undefined;
  const verb = /^(?:explain )?(\w+)/.exec(sql)?.[1];
  return verb === undefined ? undefined : GRANTS[verb];
}

/** Whether the user has no grant for the statement. */
export function lacksGrant(error: unknown): boolean {
  return GRANT_NUMBERS.has(fieldsOfError(error).errno);
}

/** Whether the connection ended with this error, so that whatever is sent over it later fails as well. */
export function endsConnection(error: unknown): boolean {
  return fieldsOfError(error).fatal === true;
}
