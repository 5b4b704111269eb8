import { setTimeout as delay } from 'node:timers/promises';
import type { Knex } from 'knex';
import { isWanted, NotSent, type Waiting } from './batch.js';
import { addressOf, discard, isMysql } from './database.js';
import { classify, DatabaseError, storeUnavailable, translate, UnfitSession } from './driver-errors.js';
import {
  boundInsertOf,
  literalInsertOf,
  type NewRouteRow,
  type RouteRow,
  selectOfIds,
  selectOfValues,
  type StoredRow,
  type UniqueValues,
} from './route-row.js';
import { requireNoTransaction } from './session.js';

/** Ends a transaction on MySQL, whatever its `completion_type`: no other one follows, and the connection stays. */
const COMMIT = 'commit and no chain no release';

/** The time limit of a health check once it is sent, in milliseconds; its connection is then discarded. */
const CHECK_LIMIT_MS = 2_000;

/**
 * An `INSERT` that has waited this long for a lock in vain, in milliseconds, has waited for the table: the error is the
 * same as for a row, but the server's limits (`session.ts`) are one second for a row, of which MySQL makes up to two,
 * and at least three for the table. Just below that, so that a busy machine may be late with the error of a row.
 */
const TABLE_LOCK_MS = 2_900;

/** A call that a statement serves. */
export interface ServedCall extends Waiting {
  /** The values that the observers captured when the call began to wait. */
  readonly captured: Captured;
}

/** A row to insert, and the call that wants it. */
export interface RowOfCall<Call> {
  readonly call: Call;
  readonly row: NewRouteRow;
}

/** How an `INSERT` ended. */
interface Inserted<Call> {
  /** The rows of its last attempt. */
  readonly sent: readonly RowOfCall<Call>[];
  /** Undefined if all of them are stored. */
  readonly refusal?: Refusal;
}

/**
 * Why the database refused one of the rows, or gave up waiting for its lock: this attempt stored none of them. An earlier
 * one may have stored them without a response.
 */
export interface Refusal {
  readonly kind: 'conflict' | 'row refused' | 'locked';
  /** As `translated` returns it. */
  readonly error: unknown;
}

/**
 * The statements on the table `routes`, the same on every engine. They are retried while a retry may succeed, and fail
 * with the registry's errors, or with `NotSent` once no call wants them.
 */
export class RouteStatements {
  readonly #knex: Knex;
  readonly #observers: StatementObservers;
  readonly #isMysql: boolean;
  /** The calls whose row an attempt without an answer may have stored. */
  readonly #perhapsStored = new WeakSet<ServedCall>();

  constructor(knex: Knex, observers: StatementObservers) {
    this.#knex = knex;
    this.#observers = observers;
    this.#isMysql = isMysql(knex);
  }

  /**
   * Inserts rows in one commit, or none of them.
   *
   * @param rowsOf the rows to insert for the calls that are wanted when there is a connection
   */
  async insert<Call extends ServedCall>(
    calls: readonly Call[],
    rowsOf: (wanted: readonly Call[]) => readonly RowOfCall<Call>[],
  ): Promise<Inserted<Call>> {
    let sent: readonly RowOfCall<Call>[] = [];
    let sentAt = 0;
    const insert = (attempt: number): Promise<void> =>
      this.#connected(calls, (connection, wanted) => {
        sent = rowsOf(wanted);
        sentAt = performance.now();
        return this.#insertOnce(connection, sent, attempt);
      });
    try {
      await inAttempts(insert);
      return { sent };
    } catch (error) {
      const { kind } = classify(error);
      const isLockedRow = kind === 'locked' && performance.now() - sentAt < TABLE_LOCK_MS;
      const isOfRow = isLockedRow || kind === 'conflict' || kind === 'row refused';
      const translated = this.translated(error);
      if (!isOfRow) throw translated;
      return { sent, refusal: { kind, error: translated } };
    }
  }

  async #insertOnce(
    connection: object,
    sent: readonly RowOfCall<ServedCall>[],
    attempt: number,
  ): Promise<void> {
    const rows = sent.map(({ row }) => row);
    const calls = sent.map(({ call }) => call);
    const { text, values } = this.#isMysql ? literalInsertOf(rows) : boundInsertOf(rows);
    const query: PromiseLike<unknown> = this.#knex.raw(text, values).connection(connection);
    try {
      const answer = await this.#observed(query, { operation: 'INSERT', attempt }, calls);
      // Behind a proxy, this server need not be the one whose session was read back.
      if (this.#isMysql) requireNoTransaction((answer as [unknown])[0]);
    } catch (error) {
      if (error instanceof UnfitSession) discard(connection);
      if (classify(error).mayHaveStored === true) for (const call of calls) this.#perhapsStored.add(call);
      throw error;
    }
  }

  /** The rows with these identifiers, in any order. @param calls those that wait for the rows */
  withIds(ids: readonly Buffer[], calls: readonly ServedCall[]): Promise<RouteRow[]> {
    return this.#answered(calls, (connection, wanted, attempt) =>
      this.#selected(connection, selectOfIds(ids), wanted, attempt),
    );
  }

  /**
   * The rows that have one of these values, some of them more than once. A row that is found is found for good. A row
   * that is not may be missing from a reader that lags behind the writer. Sent once: whoever gets no answer can do
   * without.
   *
   * @param calls those that wait for the rows
   * @throws the driver's error
   */
  lookUp(values: readonly UniqueValues[], calls: readonly ServedCall[]): Promise<StoredRow[]> {
    return this.#connected(calls, (connection, wanted) =>
      this.#selected<StoredRow>(connection, selectOfValues(values), wanted, 1),
    );
  }

  /**
   * As `lookUp`, with the rows of the writer: load balancers that send single reads to lagging readers keep a
   * transaction on it.
   */
  lookUpOnWriter(values: readonly UniqueValues[], calls: readonly ServedCall[]): Promise<StoredRow[]> {
    return this.#answered(calls, (connection, wanted, attempt) =>
      this.#inTransaction(connection, () =>
        this.#selected<StoredRow>(connection, selectOfValues(values), wanted, attempt),
      ),
    );
  }

  /** Resolves when the table can be read. */
  async ping(): Promise<void> {
    try {
      await this.#knex('routes').select(this.#knex.raw('1')).limit(1).timeout(CHECK_LIMIT_MS);
    } catch (error) {
      throw this.translated(error);
    }
  }

  /** A driver's error as the rest of the service knows it. */
  translated(error: unknown): unknown {
    return translate(error, addressOf(this.#knex));
  }

  /**
   * The failure of one of several calls that an error ends. A refusal is the last word only on a row that no earlier
   * attempt may have stored.
   *
   * @param error as `translated` returns it
   */
  failureOf(call: ServedCall, error: unknown): Error {
    const isUnknown = error instanceof DatabaseError && this.#perhapsStored.has(call);
    return isUnknown ? storeUnavailable(error) : (error as Error);
  }

  /** Uses a connection of the pool for those of the calls that are wanted once there is one. */
  async #connected<Call extends ServedCall, Answer>(
    calls: readonly Call[],
    use: (connection: object, wanted: readonly Call[]) => Promise<Answer>,
  ): Promise<Answer> {
    // An unwanted statement does not wait for a connection either.
    wantedOf(calls);
    const client = this.#knex.client as Knex.Client;
    const connection = (await client.acquireConnection()) as object;
    try {
      return await use(connection, wantedOf(calls));
    } finally {
      client.releaseConnection(connection);
    }
  }

  /** The result of a read, retried as a whole. */
  async #answered<Answer>(
    calls: readonly ServedCall[],
    read: (connection: object, wanted: readonly ServedCall[], attempt: number) => Promise<Answer>,
  ): Promise<Answer> {
    try {
      return await inAttempts((attempt) =>
        this.#connected(calls, (connection, wanted) => read(connection, wanted, attempt)),
      );
    } catch (error) {
      throw this.translated(error);
    }
  }

  async #selected<Row = RouteRow>(
    connection: object,
    text: string,
    calls: readonly ServedCall[],
    attempt: number,
  ): Promise<Row[]> {
    const query: PromiseLike<unknown> = this.#knex.raw(text).connection(connection);
    const answer = await this.#observed(query, { operation: 'SELECT', attempt }, calls);
    return rowsOf(answer as RawAnswer<Row>);
  }

  /**
   * Reads in a transaction. If anything in it fails, its end included, the transaction may still be open: the next
   * statement over its connection would become part of it, and be lost with it. So the pool never uses that connection
   * again.
   */
  async #inTransaction<Answer>(connection: object, read: () => Promise<Answer>): Promise<Answer> {
    const send = async (text: string): Promise<void> => {
      await this.#knex.raw(text).connection(connection);
    };
    try {
      await send('begin');
      const answer = await read();
      // What has been read is good, however the transaction ends.
      await send(this.#isMysql ? COMMIT : 'commit').catch(() => {
        discard(connection);
      });
      return answer;
    } catch (error) {
      discard(connection);
      throw error;
    }
  }

  async #observed<Answer>(
    query: PromiseLike<Answer>,
    statement: SentStatement,
    calls: readonly ServedCall[],
  ): Promise<Answer> {
    const end = this.#observers.begin(
      statement,
      calls.map(({ captured }) => captured),
    );
    try {
      const answer = await query;
      end();
      return answer;
    } catch (error) {
      end(this.translated(error));
      throw error;
    }
  }
}

/** The calls that still want their outcome. @throws NotSent when none of them does */
function wantedOf<Call extends Waiting>(calls: readonly Call[]): readonly Call[] {
  const wanted = calls.filter(isWanted);
  if (wanted.length === 0) throw new NotSent();
  return wanted;
}

/** For a raw statement, mysql2 returns the rows and their columns, and the embedded driver returns only the rows. */
type RawAnswer<Row> = Row[] | [Row[], unknown];

function rowsOf<Row>(answer: RawAnswer<Row>): Row[] {
  const [first] = answer;
  return Array.isArray(first) ? first : (answer as Row[]);
}

/**
 * The most attempts of one statement. Their pauses add up to 1.6 to 3.3 s: as long as load balancers take to notice a
 * failover, and less than the default deadline of a call.
 */
export const MAX_ATTEMPTS = 10;
/**
 * The longest pause after the first attempt, in milliseconds: a deadlock is over by then. The limit doubles
 * with each attempt.
 */
const FIRST_PAUSE_MS = 10;
/** The upper limit of a pause, in milliseconds, so that the last attempts come in time for the waiting calls. */
const LONGEST_PAUSE_MS = 1_000;

/**
 * Retries a statement while a retry may succeed. Sending a statement that was already executed must do no harm.
 *
 * @param send receives the number of the attempt, from 1; throws to stop retrying when no caller waits any longer
 * @param pauseOf how long to pause after an attempt, in milliseconds
 */
export async function inAttempts<Answer>(
  send: (attempt: number) => Promise<Answer>,
  pauseOf: (attempt: number) => number = pauseAfter,
): Promise<Answer> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await send(attempt);
    } catch (error) {
      // A database that is unreachable at the first attempt is reported at once.
      const { retry } = classify(error);
      const again = retry === 'at once' || (attempt > 1 && retry === 'when reached');
      if (!again || attempt === MAX_ATTEMPTS) throw error;
    }
    await delay(pauseOf(attempt));
  }
}

/**
 * The pause after an attempt, in milliseconds. Its second half is random, so that statements that failed together are
 * not retried together.
 *
 * @param random from 0 to 1
 */
export function pauseAfter(attempt: number, random = Math.random()): number {
  const longest = Math.min(FIRST_PAUSE_MS * 2 ** (attempt - 1), LONGEST_PAUSE_MS);
  return (longest * (1 + random)) / 2;
}

/** Observes the statements that serve calls, as metrics and traces do. Neither method may throw. */
export interface StatementObserver {
  /**
   * Called when a call begins to wait for the database, in the call's own context.
   *
   * @returns the value to link with the statements that serve the call
   */
  capture?(): unknown;
  /**
   * Called when a statement is about to be sent on a connection.
   *
   * @returns a function that is called once, when the statement ends, with the error if it failed; the error holds no
   *   SQL and no values
   */
  begin(statement: ObservedStatement): (error?: unknown) => void;
}

/** A statement that serves calls. Health checks of the database are not observed. */
export interface ObservedStatement {
  readonly operation: 'INSERT' | 'SELECT';
  /** The number of calls that the statement serves. */
  readonly batchSize: number;
  /** The values that `capture` of the same observer returned for each call. */
  readonly captured: readonly unknown[];
  /** 1 for the first attempt. */
  readonly attempt: number;
}

/** The values that each observer captured for one call, in the order of the observers. */
type Captured = readonly unknown[];

/** A statement as the store describes it to all of its observers. */
type SentStatement = Omit<ObservedStatement, 'batchSize' | 'captured'>;

const NONE: Captured = [];

/** All observers of one store. */
export class StatementObservers {
  readonly #observers: readonly StatementObserver[];

  constructor(observers: readonly StatementObserver[]) {
    this.#observers = observers;
  }

  /** Must be called when a call begins to wait. */
  capture(): Captured {
    return this.#observers.length === 0 ? NONE : this.#observers.map((observer) => observer.capture?.());
  }

  /**
   * Must be called when a statement is about to be sent.
   *
   * @param calls the result of `capture` for each call that the statement serves
   * @returns a function that must be called when the statement ends, with the error if it failed
   */
  begin(statement: SentStatement, calls: readonly Captured[]): (error?: unknown) => void {
    const ends = this.#observers.map((observer, i) =>
      observer.begin({
        ...statement,
        batchSize: calls.length,
        captured: calls.map((captured) => captured[i]),
      }),
    );
    return (error) => {
      for (const end of ends) end(error);
    };
  }
}
