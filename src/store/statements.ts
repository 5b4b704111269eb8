import type { Knex } from 'knex';
import { inAttempts } from './attempts.js';
import { CancelledBeforeSend, isWanted } from './batch.js';
import { addressOf, engineOf } from './database.js';
import { classify, DatabaseError, storeUnavailable, translate, UnfitSession } from './driver-errors.js';
import { type Engine, MIN_TABLE_WAIT_S } from './engines/engine.js';
import { ENGINES } from './engines/engines.js';
import { discard } from './pool.js';
import type { Row } from './route-columns.js';
import { insertOf, selectRoutesByIds, selectRowsByUniqueValues, type UniqueValues } from './route-sql.js';
import type { ServedCall, StatementFacts, StatementObservers } from './statement-observers.js';

/** The time limit of a health check once it is sent, in milliseconds; its connection is then discarded. */
const CHECK_LIMIT_MS = 2_000;

/**
 * Tells a wait for a lock on the table from a wait for a lock on a row, whose errors are the same: an `INSERT` that fails
 * because of a lock is taken to have waited for the table if it lasted at least this long, in milliseconds. The server waits
 * one second for a row (on MySQL, in effect up to two), and at least `MIN_TABLE_WAIT_S` for the table. The limit is just
 * below the latter, so that the error of a row may come late on a busy machine.
 *
 * The price: the time is that of the whole statement. If its rows wait for several locks in turn, each less than a second,
 * and then for another lock in vain, all rows fail as for the table, rather than being sent alone.
 */
const SHORTEST_TABLE_WAIT_MS = 1_000 * MIN_TABLE_WAIT_S - 100;

/** The number of the attempt of a statement that is not retried. */
const ONLY_ATTEMPT = 1;

/** A call that wants a row to be stored. */
export interface InsertCall extends ServedCall {
  /** The row, as `tupleOf` writes it. */
  readonly tuple: string;
}

/** What the database says of the `INSERT` that has a row. */
export type InsertAnswer =
  /** It stored all of its rows, or left out some or all of them, which are stored already, or whose key or shape is. */
  | { readonly kind: 'stored all' | 'left out some'; readonly error?: undefined }
  /** The database refused one of the rows, or gave up waiting for its lock, and stored none of them. */
  | { readonly kind: 'row refused' | 'locked'; readonly error: Error };

/**
 * The statements on the table `routes`, the same on every engine. They are retried while a retry may succeed, and fail
 * with the registry's errors, unless a method says otherwise, or with `CancelledBeforeSend` once no call wants them.
 */
export class RouteStatements {
  readonly #knex: Knex;
  readonly #observers: StatementObservers;
  readonly #engine: Engine;
  readonly #isAway: () => boolean;
  /**
   * The calls whose row an attempt may have stored although it failed. A call is known by its object, in later calls of
   * `insert`, too.
   */
  readonly #perhapsStored = new WeakSet<ServedCall>();

  /**
   * @param observers see each attempt of each statement, but for `ping`
   * @param isAway whether the database is known to be away, so that a retry would only keep the calls waiting
   */
  constructor(knex: Knex, observers: StatementObservers, isAway: () => boolean) {
    this.#knex = knex;
    this.#observers = observers;
    this.#engine = ENGINES[engineOf(knex)];
    this.#isAway = isAway;
  }

  /**
   * Inserts rows in one commit, but for those that are stored already, or whose key or shape is.
   *
   * @param calls for a row that is sent again, the same object as before: it tells that the row may be stored already
   * @returns the answer, or an error, for each call in order
   */
  async insert(calls: readonly InsertCall[]): Promise<(InsertAnswer | Error)[]> {
    const send = (attempt: number): Promise<(InsertAnswer | Error)[]> =>
      this.#withConnection(calls, async (connection, wanted) => {
        const answer = await this.#insertOnce(connection, wanted, attempt);
        const sent = new Set(wanted);
        return calls.map((call) =>
          sent.has(call) ? this.#answerTo(call, answer) : new CancelledBeforeSend(),
        );
      });
    try {
      return await inAttempts(send, this.#isAway);
    } catch (error) {
      const translated = this.#translate(error);
      return calls.map((call) => this.#failureOf(call, translated));
    }
  }

  /**
   * The answer of one attempt.
   *
   * @throws the driver's error, unless it concerns the rows alone; UnfitSession when the rows were not committed
   */
  async #insertOnce(
    connection: object,
    calls: readonly InsertCall[],
    attempt: number,
  ): Promise<InsertAnswer> {
    const tuples = calls.map(({ tuple }) => tuple);
    const sentAt = performance.now();
    try {
      return await this.#send(
        connection,
        insertOf(tuples, this.#engine),
        calls,
        { operation: 'INSERT', attempt },
        (answer) => {
          this.#engine.requireCommitted(answer);
          return { kind: this.#engine.hasStoredAll(answer, tuples.length) ? 'stored all' : 'left out some' };
        },
      );
    } catch (error) {
      if (error instanceof UnfitSession) discard(connection);

      const { kind, mayHaveStored } = classify(error);
      if (mayHaveStored === true) for (const call of calls) this.#perhapsStored.add(call);

      const isRowLocked = kind === 'locked' && performance.now() - sentAt < SHORTEST_TABLE_WAIT_MS;
      if (kind === 'row refused' || isRowLocked) return { kind, error: this.#translate(error) as Error };
      throw error;
    }
  }

  /** The answer of an attempt as it holds for one of its calls: see `#failureOf`. */
  #answerTo(call: InsertCall, answer: InsertAnswer): InsertAnswer {
    if (answer.error === undefined) return answer;
    return { kind: answer.kind, error: this.#failureOf(call, answer.error) };
  }

  /**
   * The failure of one of several calls that an error ends. A refusal is final only for a row that no earlier attempt may
   * have stored; another row is unavailable.
   *
   * @param error as `#translate` returns it
   */
  #failureOf(call: ServedCall, error: unknown): Error {
    const isUnknown = error instanceof DatabaseError && this.#perhapsStored.has(call);
    return isUnknown ? storeUnavailable(error) : (error as Error);
  }

  /**
   * The rows with these identifiers, in any order, with the columns of the routes alone.
   *
   * @param calls the calls that wait for the rows
   */
  withIds(ids: readonly string[], calls: readonly ServedCall[]): Promise<Row[]> {
    return this.#readWithRetries(calls, (connection, wanted, attempt) =>
      this.#select(connection, selectRoutesByIds(ids), wanted, attempt),
    );
  }

  /**
   * The rows that have one of these values, whole, some of them more than once. A row that is found is found for good. A
   * row that is not may be missing from a reader that lags behind the writer. Not retried: the inserts that ask fall back to
   * the writer.
   *
   * @param calls the calls that wait for the rows
   * @throws the driver's error
   */
  lookUp(values: readonly UniqueValues[], calls: readonly ServedCall[]): Promise<Row[]> {
    return this.#withConnection(calls, (connection, wanted) =>
      this.#select(connection, selectRowsByUniqueValues(values), wanted, ONLY_ATTEMPT),
    );
  }

  /**
   * As `lookUp`, with the rows of the writer, and retried. It is sent inside a transaction, which load balancers route to
   * the writer even where they send single reads to readers.
   *
   * @throws the registry's error
   */
  lookUpOnWriter(values: readonly UniqueValues[], calls: readonly ServedCall[]): Promise<Row[]> {
    return this.#readWithRetries(calls, (connection, wanted, attempt) =>
      this.#inTransaction(connection, () =>
        this.#select(connection, selectRowsByUniqueValues(values), wanted, attempt),
      ),
    );
  }

  /** Resolves when the table can be read. */
  async ping(): Promise<void> {
    try {
      await this.#knex('routes').select(this.#knex.raw('1')).limit(1).timeout(CHECK_LIMIT_MS);
    } catch (error) {
      throw this.#translate(error);
    }
  }

  /** The result of a read, retried as a whole. */
  async #readWithRetries<Answer>(
    calls: readonly ServedCall[],
    read: (connection: object, wanted: readonly ServedCall[], attempt: number) => Promise<Answer>,
  ): Promise<Answer> {
    const send = (attempt: number): Promise<Answer> =>
      this.#withConnection(calls, (connection, wanted) => read(connection, wanted, attempt));
    try {
      return await inAttempts(send, this.#isAway);
    } catch (error) {
      throw this.#translate(error);
    }
  }

  /**
   * Uses a connection of the pool for those of the calls that are wanted once it is there.
   *
   * @throws CancelledBeforeSend when no call is wanted
   */
  async #withConnection<Call extends ServedCall, Answer>(
    calls: readonly Call[],
    use: (connection: object, wanted: readonly Call[]) => Promise<Answer>,
  ): Promise<Answer> {
    // An unwanted statement does not wait for a connection either.
    if (!calls.some(isWanted)) throw new CancelledBeforeSend();

    const client = this.#knex.client as Knex.Client;
    const connection = (await client.acquireConnection()) as object;
    try {
      const wanted = calls.filter(isWanted);
      if (wanted.length === 0) throw new CancelledBeforeSend();
      return await use(connection, wanted);
    } finally {
      client.releaseConnection(connection);
    }
  }

  #select(connection: object, text: string, calls: readonly ServedCall[], attempt: number): Promise<Row[]> {
    return this.#send(connection, text, calls, { operation: 'SELECT', attempt }, (answer) =>
      this.#engine.rowsIn(answer),
    );
  }

  /**
   * Reads in a transaction. If anything in it fails, its end included, the transaction may still be open: the next
   * statement over its connection would become part of it, and be lost with it. So the pool never uses that connection
   * again.
   */
  async #inTransaction<Answer>(connection: object, read: () => Promise<Answer>): Promise<Answer> {
    try {
      await this.#knex.raw('begin').connection(connection);
      const answer = await read();
      try {
        await this.#knex.raw(this.#engine.commit).connection(connection);
      } catch {
        // What has been read is good, however the transaction ends.
        discard(connection);
      }
      return answer;
    } catch (error) {
      discard(connection);
      throw error;
    }
  }

  /**
   * Sends a statement that serves calls, and reads what Knex returns for it. The observers see an answer that cannot be
   * used as a failure, too.
   */
  async #send<Answer>(
    connection: object,
    text: string,
    calls: readonly ServedCall[],
    facts: StatementFacts,
    read: (answer: unknown) => Answer,
  ): Promise<Answer> {
    const end = this.#observers.begin(facts, calls);
    try {
      const answer = read(await this.#knex.raw(text).connection(connection));
      end();
      return answer;
    } catch (error) {
      end(this.#translate(error));
      throw error;
    }
  }

  /** A driver's error as the rest of the service knows it. */
  #translate(error: unknown): unknown {
    return translate(error, addressOf(this.#knex));
  }
}
