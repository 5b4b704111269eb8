import type { Knex } from 'knex';
import { isDeadlock, isRefusal, translate } from './driver-errors.js';
import type { EmbeddedFile } from './embedded-file.js';
import { type NewRouteRow, ROUTE_COLUMNS, type RouteRow } from './route-row.js';
import type { Captured, SentStatement, StatementObservers } from './statement-observer.js';
import { isWanted, NotSent, type Waiting } from './waiting.js';

/** How often an insert is tried while the database picks it as the victim of a deadlock. */
const INSERT_ATTEMPTS = 5;

/** How long a ping may take once it is sent, in milliseconds; then its connection is given up. */
const PING_LIMIT_MS = 2_000;

// The statements that every call needs are written by hand: Knex's builder takes longer to make one than to send it.
const SELECT = `select ${ROUTE_COLUMNS.join(', ')} from routes where id in `;
const INSERT = `insert into routes (${ROUTE_COLUMNS.join(', ')}, caller, request_id, shape) values `;

/** A call that a statement serves. */
export interface ServedCall extends Waiting {
  /** What the observers captured when the call began to wait. */
  readonly captured: Captured;
}

/** The statements on the table `routes`, the same on every engine. They fail with the registry's errors. */
export class RouteRows {
  readonly #knex: Knex;
  readonly #observers: StatementObservers;
  readonly #file: EmbeddedFile | undefined;

  /** @param file what an acknowledged write must be in */
  constructor(knex: Knex, observers: StatementObservers, file?: EmbeddedFile) {
    this.#knex = knex;
    this.#observers = observers;
    this.#file = file;
  }

  /**
   * Inserts all rows in one commit, or none: then it resolves with the database's reason for refusing one, or with
   * `NotSent`.
   *
   * @param calls the call of each row; all of them must still be wanted
   */
  async insert(rows: readonly NewRouteRow[], calls: readonly ServedCall[]): Promise<Error | undefined> {
    for (let attempt = 1; ; attempt++) {
      try {
        const insert = this.#knex.raw(INSERT + rows.map(toTuple).join(', '), rows.flatMap(textsOf));
        await this.#sent(insert, { operation: 'INSERT', attempt }, calls);
        return undefined;
      } catch (error) {
        if (error instanceof NotSent) return error;
        const again = isDeadlock(error) && attempt < INSERT_ATTEMPTS;
        if (again) continue;
        if (isRefusal(error)) return translate(error) as Error;
        throw translate(error);
      } finally {
        this.#file?.check();
      }
    }
  }

  /** The rows with these identifiers, in any order. @param calls of which one must still be wanted */
  async withIds(ids: readonly Buffer[], calls: readonly ServedCall[]): Promise<RouteRow[]> {
    const select = this.#knex.raw<RawAnswer>(`${SELECT}(${ids.map(literal).join(', ')})`);
    return rowsOf(await answered(this.#sent(select, { operation: 'SELECT', attempt: 1 }, calls)));
  }

  /** The row with these values of unique columns. */
  async first(where: Partial<NewRouteRow>, call: ServedCall): Promise<RouteRow | undefined> {
    const select = this.#knex<NewRouteRow>('routes')
      .where(where)
      .first(...ROUTE_COLUMNS);
    return answered(this.#sent(select, { operation: 'SELECT', attempt: 1 }, [call]));
  }

  /** Resolves when the table can be read. */
  async ping(): Promise<void> {
    await answered(this.#knex('routes').select(this.#knex.raw('1')).limit(1).timeout(PING_LIMIT_MS));
    this.#file?.check();
  }

  /** Sends a query once there is a connection for it. @throws NotSent if it is not wanted any more by then */
  async #sent<Answer>(
    query: Startable & PromiseLike<Answer>,
    statement: Pick<SentStatement, 'operation' | 'attempt'>,
    calls: readonly ServedCall[],
  ): Promise<Answer> {
    let end: ((error?: unknown) => void) | undefined;
    query.on('start', () => {
      const wanted = statement.operation === 'INSERT' ? calls.every(isWanted) : calls.some(isWanted);
      if (!wanted) throw new NotSent();
      end = this.#observers.begin(
        { ...statement, server: 'primary', fallback: false },
        calls.map(({ captured }) => captured),
      );
    });
    try {
      const answer = await query;
      end?.();
      return answer;
    } catch (error) {
      end?.(translate(error));
      throw error;
    }
  }
}

/** A query of Knex, which says when it has a connection. */
interface Startable {
  on(event: 'start', listener: () => void): unknown;
}

/** The placeholders of a row for `INSERT`. Text is bound. */
function toTuple({ id, created_at_ms, caller, request_id, shape }: NewRouteRow): string {
  return `(${literal(id)}, ?, ?, ?, ?, ${created_at_ms}, ${literal(caller)}, ${literal(request_id)}, ${literal(shape)})`;
}

/** The values that `toTuple` leaves open. */
function textsOf({ method, path, middleware, handler }: NewRouteRow): string[] {
  return [method, path, middleware, handler];
}

/** Bytes in SQL, in the form that mysql2 gives a bound value, but faster. */
function literal(bytes: Buffer | null): string {
  return bytes === null ? 'null' : `x'${bytes.toString('hex')}'`;
}

/** mysql2 answers our statement with the rows and their columns, the embedded driver with the rows. */
type RawAnswer = RouteRow[] | [RouteRow[], unknown];

function rowsOf(answer: RawAnswer): RouteRow[] {
  const [first] = answer;
  return Array.isArray(first) ? first : (answer as RouteRow[]);
}

/** The answer of a query, or its failure as a registry error. */
async function answered<T>(query: PromiseLike<T>): Promise<T> {
  try {
    return await query;
  } catch (error) {
    throw translate(error);
  }
}
