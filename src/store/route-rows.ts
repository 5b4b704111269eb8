import type { Knex } from 'knex';
import { inAttempts } from './attempts.js';
import { addressOf } from './database.js';
import { isRefusal, translate } from './driver-errors.js';
import type { EmbeddedFile } from './embedded-file.js';
import { type Galera, selectInSync } from './galera.js';
import { type NewRouteRow, ROUTE_COLUMNS, type RouteRow } from './route-row.js';
import type { Captured, SentStatement, StatementObservers } from './statement-observer.js';
import { isWanted, NotSent, type Waiting } from './waiting.js';

/** The time limit of a check once it is sent, in milliseconds; its connection is then given up. */
const CHECK_LIMIT_MS = 2_000;
/** The same for a get from a replica: the primary must still have time to answer within the call's deadline. */
const REPLICA_LIMIT_MS = 1_000;

// The statements of every call are written by hand: Knex's builder takes longer to build one than to send it.
const WITH_IDS = `${ROUTE_COLUMNS.join(', ')} from routes where id in `;
const SELECT = `select ${WITH_IDS}`;
const SELECT_IN_SYNC = selectInSync(WITH_IDS);
const INSERT = `insert into routes (${ROUTE_COLUMNS.join(', ')}, caller, request_id, shape) values `;

/** A call that a statement serves. */
export interface ServedCall extends Waiting {
  /** The values that the observers captured when the call began to wait. */
  readonly captured: Captured;
}

/** The options of one server's statements. */
interface RouteRowsOptions {
  readonly server: 'primary' | 'replica';
  readonly observers: StatementObservers;
  /** The files that must hold every acknowledged write. */
  readonly file?: EmbeddedFile | undefined;
  /** Default: not Galera. */
  readonly galera?: Galera | undefined;
  /** The time limit of a check. */
  readonly checkLimitMs?: number | undefined;
  /** The time limit of a get from a replica. */
  readonly replicaLimitMs?: number | undefined;
}

/**
 * The statements on the table `routes` of one server, the same on every engine. They fail with the registry's errors.
 * Statements to the primary are sent again while that may help; those to a replica are sent once, with a short limit.
 */
export class RouteRows {
  readonly #knex: Knex;
  readonly #options: RouteRowsOptions;
  readonly #checkLimitMs: number;
  readonly #replicaLimitMs: number;

  constructor(knex: Knex, options: RouteRowsOptions) {
    this.#knex = knex;
    this.#options = options;
    this.#checkLimitMs = options.checkLimitMs ?? CHECK_LIMIT_MS;
    this.#replicaLimitMs = options.replicaLimitMs ?? REPLICA_LIMIT_MS;
  }

  /**
   * Inserts all rows in one commit, or none: it then resolves with the database's reason for refusing one, or with
   * `NotSent`. The reason may also be that an unanswered earlier attempt has stored them.
   *
   * @param calls the call of each row; all of them must still be wanted
   */
  async insert(rows: readonly NewRouteRow[], calls: readonly ServedCall[]): Promise<Error | undefined> {
    try {
      await inAttempts((attempt) => {
        const insert = this.#knex.raw(INSERT + rows.map(toTuple).join(', '), rows.flatMap(textsOf));
        return this.#sent(insert, { operation: 'INSERT', attempt, fallback: false }, calls);
      });
      return undefined;
    } catch (error) {
      if (error instanceof NotSent) return error;
      if (isRefusal(error)) return this.#translated(error) as Error;
      throw this.#translated(error);
    } finally {
      this.#options.file?.check();
    }
  }

  /**
   * The rows with these identifiers, in any order.
   *
   * @param calls of which one must still be wanted
   * @param fallback whether a server was asked before, so that a Galera node must show everything acknowledged
   */
  async withIds(ids: readonly Buffer[], calls: readonly ServedCall[], fallback = false): Promise<RouteRow[]> {
    const text = fallback && this.#options.galera?.on === true ? SELECT_IN_SYNC : SELECT;
    const select = async (attempt: number): Promise<RouteRow[]> => {
      const query = this.#knex.raw<RawAnswer>(`${text}(${ids.map(literal).join(', ')})`);
      if (this.#options.server === 'replica') query.timeout(this.#replicaLimitMs);
      return rowsOf(await this.#sent(query, { operation: 'SELECT', attempt, fallback }, calls));
    };
    return this.#answered(this.#options.server === 'replica' ? select(1) : inAttempts(select));
  }

  /** The row with these values of unique columns. */
  async first(where: Partial<NewRouteRow>, call: ServedCall): Promise<RouteRow | undefined> {
    const select = (attempt: number): Promise<RouteRow | undefined> => {
      const query = this.#knex<NewRouteRow>('routes')
        .where(where)
        .first(...ROUTE_COLUMNS);
      return this.#sent(query, { operation: 'SELECT', attempt, fallback: false }, [call]);
    };
    return this.#answered(inAttempts(select));
  }

  /** Resolves when the table can be read. */
  async ping(): Promise<void> {
    await this.#answered(
      this.#knex('routes').select(this.#knex.raw('1')).limit(1).timeout(this.#checkLimitMs),
    );
    this.#options.file?.check();
  }

  /** Whether the table has all rows with these identifiers, which must be distinct. */
  async hasAll(ids: readonly Buffer[]): Promise<boolean> {
    const query = this.#knex('routes').whereIn('id', ids).count({ count: '*' }).timeout(this.#checkLimitMs);
    const [row] = await this.#answered(query);
    return Number(row?.count) === ids.length;
  }

  /** Sends a query once there is a connection for it. @throws NotSent if it is no longer wanted by then */
  async #sent<Answer>(
    query: Startable & PromiseLike<Answer>,
    statement: Omit<SentStatement, 'server'>,
    calls: readonly ServedCall[],
  ): Promise<Answer> {
    const { server, observers } = this.#options;
    const requireWanted = (): void => {
      const wanted = statement.operation === 'INSERT' ? calls.every(isWanted) : calls.some(isWanted);
      if (!wanted) throw new NotSent();
    };
    // An unwanted query does not wait for a connection either.
    requireWanted();
    let end: ((error?: unknown) => void) | undefined;
    query.on('start', () => {
      requireWanted();
      end = observers.begin(
        { ...statement, server },
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

  /** The answer of a query, or its failure as a registry error. */
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

/** A Knex query, which tells when it has a connection. */
interface Startable {
  on(event: 'start', listener: () => void): unknown;
}

/** The placeholders of a row for `INSERT`. Text is bound. */
function toTuple({ id, created_at_ms, caller, request_id, shape }: NewRouteRow): string {
  return `(${literal(id)}, ?, ?, ?, ?, ${created_at_ms}, ${literal(caller)}, ${literal(request_id)}, ${literal(shape)})`;
}

/** The values for the placeholders of `toTuple`. */
function textsOf({ method, path, middleware, handler }: NewRouteRow): string[] {
  return [method, path, middleware, handler];
}

/** Bytes as an SQL literal, in mysql2's form for a bound value, but faster. */
function literal(bytes: Buffer | null): string {
  return bytes === null ? 'null' : `x'${bytes.toString('hex')}'`;
}

/** mysql2 answers our statement with the rows and their columns, the embedded driver with only the rows. */
type RawAnswer = RouteRow[] | [RouteRow[], unknown];

function rowsOf(answer: RawAnswer): RouteRow[] {
  const [first] = answer;
  return Array.isArray(first) ? first : (answer as RouteRow[]);
}
