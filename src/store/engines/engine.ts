import type { Knex } from 'knex';
import type { Database } from '../../settings/database-url.js';
import type { Row } from '../route-columns.js';
import type { SqlDialect } from '../route-sql.js';

/** The names of the engines. */
export type EngineName = Database['engine'];

/**
 * The shortest time that a statement of a call waits for a lock on the whole table, in seconds. For a lock on a row, it waits
 * for one second. Where an engine's errors do not say which lock it was, the time does: so such an engine must wait for this
 * long.
 */
export const MIN_TABLE_WAIT_S = 3;

/** How long calls and their connections may take, in milliseconds. */
export interface CallTimes {
  /** The longest time of a call. */
  readonly deadlineMs: number;
  /**
   * How long a connection to MySQL may stay silent before it is dropped: longer than any statement waits for a lock, so
   * that the server reports the lock.
   */
  readonly silenceMs: number;
}

/** What Knex returns for a statement written as text, which is the driver's own. */
type RawAnswer = unknown;

/** All that differs between databases, but for their errors (`EngineErrors`) and the migrations. */
export interface Engine<Location extends Database = Database> extends SqlDialect {
  /** The name of its client in Knex. */
  readonly client: string;
  /** Whether other instances may use the database: then the service neither migrates it nor changes rows when it starts. */
  readonly isShared: boolean;

  /** @throws Error when its files cannot be written */
  openForCalls(location: Location, times: CallTimes): Knex;
  /** Without limits of time. @throws Error when its files cannot be written */
  openForMigrations(location: Location): Knex;
  /** Completes its files; called before the connections are closed. */
  prepareClose(knex: Knex): Promise<void>;

  /** The statement that commits, and leaves the connection as it was before the transaction. */
  readonly commit: string;
  /** How an `UPDATE` begins that passes over a row whose new unique value another row holds. */
  readonly updateWherePossible: string;

  /**
   * Requires that an `INSERT` was committed.
   *
   * @throws UnfitSession when it was not: its connection must then be discarded
   */
  requireCommitted(answer: RawAnswer): void;
  /** Whether an `INSERT` stored all of its `rows` rows, rather than leaving some out. */
  hasStoredAll(answer: RawAnswer, rows: number): boolean;
  /** The rows that a `SELECT` returned. */
  rowsIn(answer: RawAnswer): Row[];

  /** @throws the driver's error when the user lacks a grant that creates need */
  requireGrants(knex: Knex): Promise<void>;
  /**
   * Runs `work` on one connection, under a lock that only one process holds per database, and that never outlives the
   * process.
   *
   * @param work uses only the connection that it receives
   * @param waitMs how long to wait for another process on a server, in milliseconds, a multiple of 1,000: MySQL counts seconds
   * @throws Error when another process holds the lock for longer
   */
  underLock<Result>(knex: Knex, work: (connection: Knex) => Promise<Result>, waitMs: number): Promise<Result>;
}
