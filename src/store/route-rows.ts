import type { Knex } from 'knex';
import { inAttempts } from './attempts.js';
import { isWanted, NotSent, type Waiting } from './batch.js';
import { addressOf } from './database.js';
import { isRefusal, translate } from './driver-errors.js';
import { type NewRouteRow, ROUTE_COLUMNS, type RouteRow } from './route-row.js';
import type { Captured, SentStatement, StatementObservers } from './statement-observer.js';

/** The time limit of a health check once it is sent, in milliseconds; its connection is then discarded. */
const CHECK_LIMIT_MS = 2_000;

// The statements of every call are written by hand: Knex's builder takes longer to build a statement than to send it.
const SELECT = `select ${ROUTE_COLUMNS.join(', ')} from routes where id in `;
const INSERT = `insert into routes (${ROUTE_COLUMNS.join(', ')}, caller, request_id, shape) values `;

/** A call that a statement serves. */
export interface ServedCall extends Waiting {
  /** The values that the observers captured when the call began to wait. */
  readonly captured: Captured;
}

/** Reads the row with these values of unique columns. */
export type ReadRow = (where: Partial<NewRouteRow>) => Promise<RouteRow | undefined>;

/**
 * The statements on the table `routes`, the same on every engine. They are retried while a retry may succeed, and fail
 * with the registry's errors.
 */
export class RouteRows {
  readonly #knex: Knex;
  readonly #observers: StatementObservers;

  constructor(knex: Knex, observers: StatementObservers) {
    this.#knex = knex;
    this.#observers = observers;
  }

  /**
   * Inserts all rows in one commit, or none. If none, resolves with the error by which the database refused one of
   * them, or with `NotSent`. The refusal may also mean that an earlier attempt stored the rows without a response.
   *
   * @param calls the call of each row; all of them must still be wanted
   */
  async insert(rows: readonly NewRouteRow[], calls: readonly ServedCall[]): Promise<Error | undefined> {
    try {
      await inAttempts((attempt) => {
        const insert = this.#knex.raw(INSERT + rows.map(toTuple).join(', '), rows.flatMap(textsOf));
        return this.#sent(insert, { operation: 'INSERT', attempt }, calls);
      });
      return undefined;
    } catch (error) {
      if (error instanceof NotSent) return error;
      if (isRefusal(error)) return this.#translated(error) as Error;
      throw this.#translated(error);
    }
  }

  /**
   * The rows with these identifiers, in any order.
   *
   * @param calls the calls that wait for the rows; at least one of them must still be wanted
   */
  async withIds(ids: readonly Buffer[], calls: readonly ServedCall[]): Promise<RouteRow[]> {
    const select = async (attempt: number): Promise<RouteRow[]> => {
      const query = this.#knex.raw<RawAnswer>(`${SELECT}(${ids.map(literal).join(', ')})`);
      return rowsOf(await this.#sent(query, { operation: 'SELECT', attempt }, calls));
    };
    return this.#answered(inAttempts(select));
  }

  /**
   * Reads rows in one transaction, since load balancers that send single reads to lagging replicas keep a transaction
   * on the primary. A retry repeats the whole transaction.
   */
  async read<Answer>(call: ServedCall, reads: (read: ReadRow) => Promise<Answer>): Promise<Answer> {
    const attempted = (attempt: number): Promise<Answer> => {
      requireWanted([call]);
      return this.#inTransaction((transaction) =>
        reads((where) => {
          const query = transaction<NewRouteRow>('routes')
            .where(where)
            .first(...ROUTE_COLUMNS);
          return this.#sent(query, { operation: 'SELECT', attempt }, [call]);
        }),
      );
    };
    return this.#answered(inAttempts(attempted));
  }

  /** Resolves when the table can be read. */
  async ping(): Promise<void> {
    await this.#answered(this.#knex('routes').select(this.#knex.raw('1')).limit(1).timeout(CHECK_LIMIT_MS));
  }

  /** Rejects with a transaction's first error. On a lost connection, Knex itself rejects with that of the ROLLBACK. */
  async #inTransaction<Answer>(body: (transaction: Knex.Transaction) => Promise<Answer>): Promise<Answer> {
    let failure: unknown;
    try {
      return await this.#knex.transaction(async (transaction) => {
        try {
          return await body(transaction);
        } catch (error) {
          // If BEGIN failed, the transaction is already completed, and the body's error is not the cause.
          if (!transaction.isCompleted()) failure = error;
          throw error;
        }
      });
    } catch (error) {
      throw failure ?? error;
    }
  }

  /** Sends a query once there is a connection for it. @throws NotSent if it is no longer wanted by then */
  async #sent<Answer>(
    query: Startable & PromiseLike<Answer>,
    statement: SentStatement,
    calls: readonly ServedCall[],
  ): Promise<Answer> {
    const check = statement.operation === 'INSERT' ? requireAllWanted : requireWanted;
    // An unwanted query does not wait for a connection either.
    check(calls);
    let end: ((error?: unknown) => void) | undefined;
    query.on('start', () => {
      check(calls);
      end = this.#observers.begin(
        statement,
        calls.map(({ captured }) => captured),
      );
    });
    try {
      const answer = await query;
      end?.();
      return answer;
    } catch (error) {
      end?.(this.#translated(error));
      throw error;
    }
  }

  /** The result of a query, or its failure as a registry error. */
  async #answered<T>(query: PromiseLike<T>): Promise<T> {
    try {
      return await query;
    } catch (error) {
      throw this.#translated(error);
    }
  }

  #translated(error: unknown): unknown {
    return translate(error, addressOf(this.#knex));
  }
}

/** @throws NotSent when no call is wanted any longer */
function requireWanted(calls: readonly ServedCall[]): void {
  if (!calls.some(isWanted)) throw new NotSent();
}

/** @throws NotSent when one call is no longer wanted */
function requireAllWanted(calls: readonly ServedCall[]): void {
  if (!calls.every(isWanted)) throw new NotSent();
}

/** A Knex query, which emits `start` when it has a connection. */
interface Startable {
  on(event: 'start', listener: () => void): unknown;
}

/** The tuple of a row for `INSERT`: text has placeholders, and all other values are literals. */
function toTuple({ id, created_at_ms, caller, request_id, shape }: NewRouteRow): string {
  return `(${literal(id)}, ?, ?, ?, ?, ${created_at_ms}, ${literal(caller)}, ${literal(request_id)}, ${literal(shape)})`;
}

/** The values for the placeholders of `toTuple`. */
function textsOf({ method, path, middleware, handler }: NewRouteRow): string[] {
  return [method, path, middleware, handler];
}

/** Bytes as an SQL literal, in the form in which mysql2 sends a bound value, but faster. */
function literal(bytes: Buffer | null): string {
  return bytes === null ? 'null' : `x'${bytes.toString('hex')}'`;
}

/** For a raw statement, mysql2 returns the rows and their columns, and the embedded driver returns only the rows. */
type RawAnswer = RouteRow[] | [RouteRow[], unknown];

function rowsOf(answer: RawAnswer): RouteRow[] {
  const [first] = answer;
  return Array.isArray(first) ? first : (answer as RouteRow[]);
}
