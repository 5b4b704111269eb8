import { setTimeout as delay } from 'node:timers/promises';
import type { Knex } from 'knex';
import { CancelledBeforeSend, isWanted, type Waiting } from './batch.js';
import { addressOf, discard, type Engine, engineOf } from './database.js';
import { classify, DatabaseError, storeUnavailable, translate, UnfitSession } from './driver-errors.js';
import { insertOf, type Row, selectOfIds, selectOfValues, type UniqueValues } from './route-row.js';
import { requireNoTransaction } from './session.js';

/** What differs between the engines. */
interface Dialect {
  readonly commit: string;
  /**
   * Whether an `INSERT` has stored so many rows, and so all of its own. Otherwise it left some out.
   *
   * @throws UnfitSession when nothing of it is committed
   */
  readonly hasStored: (answer: unknown, rows: number) => boolean;
  readonly rowsIn: (answer: unknown) => Row[];
}

const DIALECTS: Record<Engine, Dialect> = {
  mysql: {
    // Whatever its `completion_type`: no other transaction follows, and the connection stays.
    commit: 'commit and no chain no release',
    hasStored(answer, rows) {
      const [{ insertId, affectedRows, ...status }] = answer as [Record<'insertId' | 'affectedRows', number>];
      // Behind a proxy, this server need not be the one whose session was read back.
      requireNoTransaction(status);
      // Either would do, but a proxy may drop the id, and change the flag by which rows are counted.
      return insertId === 0 && affectedRows >= rows;
    },
    rowsIn: (answer) => (answer as [Row[]])[0],
  },
  sqlite: {
    commit: 'commit',
    hasStored: (answer, rows) => (answer as { readonly changes: number }).changes === rows,
    rowsIn: (answer) => answer as Row[],
  },
};

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

/** A call that wants a row to be stored. */
export interface InsertCall extends ServedCall {
  /** The row, as `tupleOf` writes it. */
  readonly tuple: string;
}

/** How an `INSERT` ended for one of its rows. */
export type Inserted =
  /** All of its rows are stored, or only some: the others are stored already, or their key or shape is. */
  | { readonly kind: 'all' | 'some'; readonly error?: undefined }
  /** The database refused one of the rows, or gave up waiting for its lock, and stored none of them. */
  | { readonly kind: 'row refused' | 'locked'; readonly error: Error };

/**
 * The statements on the table `routes`, the same on every engine. They are retried while a retry may succeed, and fail
 * with the registry's errors, or with `CancelledBeforeSend` once no call wants them.
 */
export class RouteStatements {
  readonly #knex: Knex;
  readonly #observers: StatementObservers;
  readonly #engine: Engine;
  readonly #isAway: () => boolean;
  /** The calls whose row an attempt without an answer may have stored. */
  readonly #perhapsStored = new WeakSet<ServedCall>();

  /** @param isAway whether the database is known to be away, so that a retry would only keep the calls waiting */
  constructor(knex: Knex, observers: StatementObservers, isAway: () => boolean) {
    this.#knex = knex;
    this.#observers = observers;
    this.#engine = engineOf(knex);
    this.#isAway = isAway;
  }

  /**
   * Inserts rows in one commit, but for those that are stored already, or whose key or shape is.
   *
   * @returns how it ended, or an error, for each call in order
   */
  async insert(calls: readonly InsertCall[]): Promise<(Inserted | Error)[]> {
    let sent: readonly InsertCall[] = [];
    let sentAt = 0;
    try {
      const insert = (attempt: number): Promise<'all' | 'some'> =>
        this.#connected(calls, (connection, wanted) => {
          sent = wanted;
          sentAt = performance.now();
          return this.#insertOnce(connection, sent, attempt);
        });
      const kind = await inAttempts(insert, this.#isAway);
      const stored = new Set(sent);
      return calls.map((call) => (stored.has(call) ? { kind } : new CancelledBeforeSend()));
    } catch (error) {
      const { kind } = classify(error);
      const isTableLocked = kind === 'locked' && performance.now() - sentAt >= TABLE_LOCK_MS;
      const isOfRow = kind === 'row refused' || (kind === 'locked' && !isTableLocked);
      const translated = this.#translated(error);
      return calls.map((call) => {
        const failure = this.#failureOf(call, translated);
        return isOfRow ? { kind, error: failure } : failure;
      });
    }
  }

  async #insertOnce(
    connection: object,
    calls: readonly InsertCall[],
    attempt: number,
  ): Promise<'all' | 'some'> {
    const tuples = calls.map(({ tuple }) => tuple);
    const query: PromiseLike<unknown> = this.#knex.raw(insertOf(tuples, this.#engine)).connection(connection);
    try {
      const answer = await this.#observed(query, { operation: 'INSERT', attempt }, calls);
      return DIALECTS[this.#engine].hasStored(answer, tuples.length) ? 'all' : 'some';
    } catch (error) {
      if (error instanceof UnfitSession) discard(connection);
      if (classify(error).mayHaveStored === true) for (const call of calls) this.#perhapsStored.add(call);
      throw error;
    }
  }

  /** The rows with these identifiers, in any order. @param calls those that wait for the rows */
  withIds(ids: readonly string[], calls: readonly ServedCall[]): Promise<Row[]> {
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
  lookUp(values: readonly UniqueValues[], calls: readonly ServedCall[]): Promise<Row[]> {
    return this.#connected(calls, (connection, wanted) =>
      this.#selected(connection, selectOfValues(values), wanted, 1),
    );
  }

  /**
   * As `lookUp`, with the rows of the writer: load balancers that send single reads to lagging readers keep a
   * transaction on it.
   */
  lookUpOnWriter(values: readonly UniqueValues[], calls: readonly ServedCall[]): Promise<Row[]> {
    return this.#answered(calls, (connection, wanted, attempt) =>
      this.#inTransaction(connection, () =>
        this.#selected(connection, selectOfValues(values), wanted, attempt),
      ),
    );
  }

  /** Resolves when the table can be read. */
  async ping(): Promise<void> {
    try {
      await this.#knex('routes').select(this.#knex.raw('1')).limit(1).timeout(CHECK_LIMIT_MS);
    } catch (error) {
      throw this.#translated(error);
    }
  }

  /** A driver's error as the rest of the service knows it. */
  #translated(error: unknown): unknown {
    return translate(error, addressOf(this.#knex));
  }

  /**
   * The failure of one of several calls that an error ends. A refusal is the last word only on a row that no earlier
   * attempt may have stored.
   *
   * @param error as `#translated` returns it
   */
  #failureOf(call: ServedCall, error: unknown): Error {
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
      const send = (attempt: number): Promise<Answer> =>
        this.#connected(calls, (connection, wanted) => read(connection, wanted, attempt));
      return await inAttempts(send, this.#isAway);
    } catch (error) {
      throw this.#translated(error);
    }
  }

  async #selected(
    connection: object,
    text: string,
    calls: readonly ServedCall[],
    attempt: number,
  ): Promise<Row[]> {
    const query: PromiseLike<unknown> = this.#knex.raw(text).connection(connection);
    const answer = await this.#observed(query, { operation: 'SELECT', attempt }, calls);
    return DIALECTS[this.#engine].rowsIn(answer);
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
      await send(DIALECTS[this.#engine].commit).catch(() => {
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
    const end = this.#observers.begin(statement, calls);
    try {
      const answer = await query;
      end();
      return answer;
    } catch (error) {
      end(this.#translated(error));
      throw error;
    }
  }
}

/** The calls that still want their outcome. @throws CancelledBeforeSend when none of them does */
function wantedOf<Call extends Waiting>(calls: readonly Call[]): readonly Call[] {
  const wanted = calls.filter(isWanted);
  if (wanted.length === 0) throw new CancelledBeforeSend();
  return wanted;
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
 * @param isAway whether no retry is worth its wait
 * @param pauseOf how long to pause after an attempt, in milliseconds
 */
export async function inAttempts<Answer>(
  send: (attempt: number) => Promise<Answer>,
  isAway: () => boolean,
  pauseOf: (attempt: number) => number = pauseAfter,
): Promise<Answer> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await send(attempt);
    } catch (error) {
      // A database that is unreachable at the first attempt is reported at once.
      const { retry } = classify(error);
      const again = retry === 'at once' || (attempt > 1 && retry === 'when reached');
      if (!again || attempt === MAX_ATTEMPTS || isAway()) throw error;
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

  /** Must be called when a statement is about to be sent; what it returns, when it ends, with the error if it failed. */
  begin(statement: SentStatement, calls: readonly ServedCall[]): (error?: unknown) => void {
    const ends = this.#observers.map((observer, i) => {
      const captured = calls.map((call) => call.captured[i]);
      return observer.begin({ ...statement, batchSize: calls.length, captured });
    });
    return (error) => {
      for (const end of ends) end(error);
    };
  }
}
