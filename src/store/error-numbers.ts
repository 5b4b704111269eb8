// The errors of database servers and of proxies in front of them, by their names in:
// - dev.mysql.com/doc/mysql-errors/en/server-error-reference.html, and client-error-reference.html for CR_…
// - mariadb.com/docs/server/reference/error-codes
// - proxysql.com/documentation/error-codes, which has messages and no names

/** Lower numbers are those of the operating system; a server's own begin here. */
export const FIRST_SERVER_ERROR = 1000;

const ER_DISK_FULL = 1021;
const ER_CON_COUNT_ERROR = 1040;
const ER_DBACCESS_DENIED_ERROR = 1044;
const ER_ACCESS_DENIED_ERROR = 1045;
/** A Galera node that is not, or no longer, part of the cluster's majority. */
const ER_UNKNOWN_COM_ERROR = 1047;
const ER_BAD_DB_ERROR = 1049;
const ER_SERVER_SHUTDOWN = 1053;
/** Errors of plugins, and of Vitess for a tablet that it has lost. */
const ER_UNKNOWN_ERROR = 1105;
const ER_RECORD_FILE_FULL = 1114;
/** A commit that a Galera node could not replicate. */
const ER_ERROR_DURING_COMMIT = 1180;
const ER_TOO_MANY_USER_CONNECTIONS = 1203;
const ER_LOCK_WAIT_TIMEOUT = 1205;
/** Also Galera's error for a commit in conflict with one on another node. */
const ER_LOCK_DEADLOCK = 1213;
/** `read_only` or `super_read_only`. */
const ER_OPTION_PREVENTS_STATEMENT = 1290;
const ER_QUERY_INTERRUPTED = 1317;
/** `transaction_read_only`. */
const ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION = 1792;
const ER_READ_ONLY_MODE = 1836;
/** `innodb_read_only`, as on a reader of Aurora. */
const ER_INNODB_READ_ONLY = 1874;
/** MariaDB. */
const ER_CONNECTION_KILLED = 1927;
/** MariaDB: `max_statement_time`. The statement was rolled back. */
const ER_STATEMENT_TIMEOUT = 1969;
/** A proxy has no server to connect to. */
const CR_CONN_HOST_ERROR = 2003;
/** A proxy has lost its connection to the server, before the statement or during it. */
const CR_SERVER_GONE_ERROR = 2006;
const CR_SERVER_LOST = 2013;
/** `max_execution_time`, which MySQL applies to reads only. */
const ER_QUERY_TIMEOUT = 3024;
/** For example, an expelled member of Group Replication (`group_replication_exit_state_action`). */
const ER_SERVER_OFFLINE_MODE = 3032;
/** A step of Group Replication before or after a commit. */
const ER_RUN_HOOK_ERROR = 3100;
/** Group Replication rolled a commit back: it was in conflict, or the member is not online. */
const ER_TRANSACTION_ROLLBACK_DURING_COMMIT = 3101;
const ER_ACCOUNT_HAS_BEEN_LOCKED = 3118;
/** The server has ended an idle connection, and does not read a statement that crosses this. */
const ER_CLIENT_INTERACTION_TIMEOUT = 4031;
const ER_ACCOUNT_HAS_BEEN_LOCKED_MARIADB = 4151;
const PROXYSQL_CONNECT_TIMEOUT = 9001;
const PROXYSQL_CONNECT_FAILURE = 9002;
const PROXYSQL_BACKEND_OFFLINE = 9004;

/** Another statement held a lock. This one was rolled back, and may succeed the next time. */
const LOCKED = [ER_LOCK_WAIT_TIMEOUT, ER_LOCK_DEADLOCK];

/** Another server is in charge. Nothing was stored, and a new connection may lead to that server. */
const ELSEWHERE = [
  ER_UNKNOWN_COM_ERROR,
  ER_OPTION_PREVENTS_STATEMENT,
  ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION,
  ER_READ_ONLY_MODE,
  ER_INNODB_READ_ONLY,
  ER_TRANSACTION_ROLLBACK_DURING_COMMIT,
];

/** The server is failing, and may have stored something before. */
const FAILING = [ER_SERVER_SHUTDOWN, ER_UNKNOWN_ERROR, ER_ERROR_DURING_COMMIT, ER_RUN_HOOK_ERROR];

/**
 * The statement or its connection ended, or a proxy found no server, perhaps after it had lost one. Something may have been
 * stored before.
 */
const INTERRUPTED = [
  ER_QUERY_INTERRUPTED,
  ER_CONNECTION_KILLED,
  CR_CONN_HOST_ERROR,
  CR_SERVER_GONE_ERROR,
  CR_SERVER_LOST,
  ER_CLIENT_INTERACTION_TIMEOUT,
];

/** A server that is starting, stopping or full of connections, or a proxy that has none. */
const CROWDED = [
  ER_CON_COUNT_ERROR,
  ER_TOO_MANY_USER_CONNECTIONS,
  ER_SERVER_OFFLINE_MODE,
  PROXYSQL_CONNECT_TIMEOUT,
  PROXYSQL_CONNECT_FAILURE,
  PROXYSQL_BACKEND_OFFLINE,
];

type Numbers = ReadonlySet<number | undefined>;

/** Errors of a server that apply to every connection to it. */
export const WRONG_SERVER_NUMBERS: Numbers = new Set([...ELSEWHERE, ...FAILING]);

/** The same statement may succeed a moment later. */
export const TRANSIENT_NUMBERS: Numbers = new Set([...LOCKED, ...WRONG_SERVER_NUMBERS, ...INTERRUPTED]);

/** A later connection may succeed. */
export const OUT_OF_REACH_NUMBERS: Numbers = new Set([...TRANSIENT_NUMBERS, ...CROWDED]);

/** The statement took longer than the server lets it, and stored nothing. It would take as long again. */
export const TIMED_OUT_NUMBERS: Numbers = new Set([ER_STATEMENT_TIMEOUT, ER_QUERY_TIMEOUT]);

/** The database is unavailable; a more detailed error would not help a client. */
export const AWAY_NUMBERS: Numbers = new Set([
  ...OUT_OF_REACH_NUMBERS,
  ER_DISK_FULL,
  ER_DBACCESS_DENIED_ERROR,
  ER_ACCESS_DENIED_ERROR,
  ER_BAD_DB_ERROR,
  ER_RECORD_FILE_FULL,
  ER_ACCOUNT_HAS_BEEN_LOCKED,
  ER_ACCOUNT_HAS_BEEN_LOCKED_MARIADB,
]);
