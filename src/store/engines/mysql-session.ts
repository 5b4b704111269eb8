import { classify, UnfitSession } from '../driver-errors.js';
import { MIN_TABLE_WAIT_S } from './engine.js';

/** The variables of a session: names, and values as the server shows them. */
export type Variables = Readonly<Record<string, string>>;

/** What every statement depends on, whatever the server's defaults, its `init_connect` or a proxy say. */
const EVERY_SESSION: Variables = {
  // A statement commits at once. Otherwise others do not see a create, and it is lost with its connection.
  autocommit: 'ON',
  // Values that are too long or invalid are refused, not truncated, and a backslash escapes.
  sql_mode: 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION',
  // A look-up finds every row that it asks for.
  sql_select_limit: '18446744073709551615',
  // A look-up may read any number of rows.
  sql_big_selects: 'ON',
  // Migrations and Knex's lock change rows without naming their keys.
  sql_safe_updates: 'OFF',
  // The unique indexes decide what is a repeat or a duplicate.
  unique_checks: 'ON',
  foreign_key_checks: 'ON',
};

/** What `SET NAMES` sets: text arrives and returns as it was sent. */
const NAMES: Variables = {
  character_set_client: 'utf8mb4',
  character_set_connection: 'utf8mb4',
  character_set_results: 'utf8mb4',
};

/** What has another name on each product; a server shows those that it has. */
const BY_PRODUCT: Variables = {
  // A look-up reads only what is committed, all of it as of one moment: MySQL, then MariaDB, which later has both.
  transaction_isolation: 'REPEATABLE-READ',
  tx_isolation: 'REPEATABLE-READ',
  // The deadlines of calls are the service's, and a migration takes as long as it must: MySQL, then MariaDB.
  max_execution_time: '0',
  max_statement_time: '0.000000',
};

/**
 * The variables of the connections that serve calls. Its times are in seconds, as the server has them.
 *
 * - Creates share statements: a lock that somebody holds on one row delays the others for one second at most.
 * - While somebody locks the table, a statement ends at three fifths of the deadline, so that calls get its error rather
 *   than 504. It waits for at least three seconds, far longer than for a row: the duration tells which of the two was
 *   locked (`statements.ts`). With a deadline of less than that, calls do not wait for it.
 *
 * @param deadlineMs the longest time of a call
 */
export function sessionForCalls(deadlineMs: number): Variables {
  const tableWaitS = Math.max(Math.floor(0.6 * (deadlineMs / 1_000)), MIN_TABLE_WAIT_S);
  return {
    ...EVERY_SESSION,
    innodb_lock_wait_timeout: '1',
    lock_wait_timeout: String(tableWaitS),
  };
}

/** The variables of the connections that migrate. */
export const SESSION_FOR_MIGRATIONS: Variables = {
  ...EVERY_SESSION,
  // In seconds: InnoDB's default for a row, which outwaits every statement of a call, and for the table the same instead
  // of the servers' defaults of a day or a year. While a migration waits for the table, calls wait behind it.
  innodb_lock_wait_timeout: '50',
  lock_wait_timeout: '50',
  // Knex sends a plain COMMIT, which would open another transaction, or end the connection.
  completion_type: 'NO_CHAIN',
};

/** Sends a statement; resolves with what mysql2 returns for it. */
type Query = (statement: string) => Promise<unknown>;

/**
 * Sets the variables of a new connection, and reads them back: what a server or a proxy has refused or ignored shows
 * there, with its name. A refusal does not matter where the values are as needed all the same.
 *
 * @throws UnfitSession when it lacks one of the variables, or has an open transaction; the driver's error when it is
 *   lost
 */
export async function setUpSession(variables: Variables, query: Query): Promise<void> {
  const needed = { ...NAMES, ...variables, ...BY_PRODUCT };
  // Sent together, so that all of them fail with the cause when the connection is lost.
  const [set, setIsolation, shown] = await Promise.allSettled([
    query(setStatement(variables)),
    query('SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ'),
    query(showStatement(Object.keys(needed))),
  ]);
  if (shown.status === 'rejected') {
    const error = shown.reason as Error;
    if (classify(error).retry !== undefined) throw error;
    throw new UnfitSession(`do not show their variables: ${error.message}`);
  }

  const lacking = lackingOf(needed, shown.value as ShownVariable[]);
  if (lacking.length > 0) {
    const refusals = [set, setIsolation]
      .filter((result) => result.status === 'rejected')
      .map(({ reason }) => (reason as Error).message);
    const cause = refusals.length === 0 ? 'whatever this service sets' : `since ${refusals.join('; ')}`;
    throw new UnfitSession(`lack ${lacking.join(', ')}, ${cause}`);
  }

  if (set.status === 'fulfilled') requireNoTransaction(set.value);
}

/** The variables that a session lacks, each with the value that it needs. */
function lackingOf(needed: Variables, shown: readonly ShownVariable[]): string[] {
  const values = new Map(shown.map((row) => [row.Variable_name, row.Value]));
  return Object.entries(needed)
    .filter(([name, value]) => {
      const isOfOtherProduct = name in BY_PRODUCT && !values.has(name);
      return !isOfOtherProduct && values.get(name) !== value;
    })
    .map(([name, value]) => `${name}=${value}`);
}

/** @throws UnfitSession when the server answered a statement within a transaction: nothing of it is committed */
export function requireNoTransaction(answer: unknown): void {
  const { serverStatus = 0 } = answer as { readonly serverStatus?: number };
  if ((serverStatus & IN_TRANSACTION) === 0) return;
  throw new UnfitSession('are within a transaction that this service has not begun');
}

/** The flag SERVER_STATUS_IN_TRANS of an answer's status. */
const IN_TRANSACTION = 1;

/** A row of `SHOW VARIABLES`. */
interface ShownVariable {
  readonly Variable_name: string;
  readonly Value: string;
}

/** The time limits stand in comments that only their product reads. */
function setStatement(variables: Variables): string {
  const pairs = Object.entries(variables).map(([name, value]) => `SESSION ${name} = ${literalOf(value)}`);
  const limits =
    '/*!80000 , SESSION max_execution_time = 0 */ /*M!100000 , SESSION max_statement_time = 0 */';
  return `SET NAMES utf8mb4, ${pairs.join(', ')} ${limits}`;
}

/** Not `SELECT @@name`, which fails for a name that the server lacks, and which proxies send to a reader. */
function showStatement(names: readonly string[]): string {
  return `SHOW SESSION VARIABLES WHERE Variable_name IN (${names.map((name) => `'${name}'`).join(', ')})`;
}

/** A value as `SET` takes it. Numbers and keywords stand for themselves. */
function literalOf(value: string): string {
  return /^\w+$/.test(value) ? value : `'${value}'`;
}
