import type { Knex } from 'knex';
import { isDeadlock, isRefusal, translate } from './driver-errors.js';
import type { EmbeddedFile } from './embedded-file.js';
import { type NewRouteRow, ROUTE_COLUMNS, type RouteRow } from './route-row.js';
import { NotSent } from './waiting.js';

/** How often an insert is tried while the database picks it as the victim of a deadlock. */
const INSERT_ATTEMPTS = 5;

/** How long a ping may take once it is sent, in milliseconds; then its connection is given up. */
const PING_LIMIT_MS = 2_000;

// The statements that every call needs are written by hand: Knex's builder takes longer to make one than to send it.
const SELECT = `select ${ROUTE_COLUMNS.join(', ')} from routes where id in `;
const INSERT = `insert into routes (${ROUTE_COLUMNS.join(', ')}, caller, request_id, shape) values `;

/** The statements on the table `routes`, the same on every engine. They fail with the registry's errors. */
export class RouteRows {
  readonly #knex: Knex;
  readonly #file: EmbeddedFile | undefined;

  /** @param file what an acknowledged write must be in */
  constructor(knex: Knex, file?: EmbeddedFile) {
    this.#knex = knex;
    this.#file = file;
  }

  /**
   * Inserts all rows in one commit, or none: then it resolves with the database's reason for refusing one, or with
   * `NotSent`.
   */
  async insert(rows: readonly NewRouteRow[], isWanted: Wanted): Promise<Error | undefined> {
    for (let attempt = 1; ; attempt++) {
      try {
        const insert = this.#knex.raw(INSERT + rows.map(toTuple).join(', '), rows.flatMap(textsOf));
        await sentIf(isWanted, insert);
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

  /** The rows with these identifiers, in any order. */
  async withIds(ids: readonly Buffer[], isWanted: Wanted): Promise<RouteRow[]> {
    const select = this.#knex.raw<RawAnswer>(`${SELECT}(${ids.map(literal).join(', ')})`);
    return rowsOf(await answered(sentIf(isWanted, select)));
  }

  /** The row with these values of unique columns. */
  async first(where: Partial<NewRouteRow>, isWanted: Wanted): Promise<RouteRow | undefined> {
    const select = this.#knex<NewRouteRow>('routes')
      .where(where)
      .first(...ROUTE_COLUMNS);
    return answered(sentIf(isWanted, select));
  }

  /** Resolves when the table can be read. */
  async ping(): Promise<void> {
    await answered(this.#knex('routes').select(this.#knex.raw('1')).limit(1).timeout(PING_LIMIT_MS));
    this.#file?.check();
  }
}

/** Whether somebody still waits for the outcome of a statement. */
type Wanted = () => boolean;

/** Sends a query if it is still wanted once there is a connection for it. @throws NotSent if it is not */
function sentIf<Query extends Startable>(isWanted: Wanted, query: Query): Query {
  query.on('start', () => {
    if (!isWanted()) throw new NotSent();
  });
  return query;
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
