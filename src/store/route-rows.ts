import type { Knex } from 'knex';
import { inAttempts } from './attempts.js';
import { isWanted, NotSent, type Waiting } from './batch.js';
import { addressOf, discard } from './database.js';
import { isConflict, isRefusedForRow, translate } from './driver-errors.js';
import { type NewRouteRow, ROUTE_COLUMNS, type RouteRow, type StoredRow } from './route-row.js';
import type { Captured, SentStatement, StatementObservers } from './statement-observer.js';

/** The time limit of a health check once it is sent, in milliseconds; its connection is then discarded. */
const CHECK_LIMIT_MS = 2_000;

// The statements of every call are written by hand: Knex's builder takes longer to build a statement than to send it.
const ROUTE = ROUTE_COLUMNS.join(', ');
const STORED = `${ROUTE}, caller, request_id, shape`;
const INSERT = `insert into routes (${STORED}) values `;

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
  /**
   * The driver's error by which the database refused one of the rows, so that this attempt stored none of them; an
   * earlier one may have stored them without a response. Undefined if all of them are stored.
   */
  readonly refusal?: unknown;
}

/** The values of unique columns by which rows are looked up. */
export interface UniqueValues {
  readonly id?: Buffer | undefined;
  readonly key?: { readonly caller: Buffer; readonly request_id: Buffer } | undefined;
  readonly shape?: Buffer | undefined;
}

/**
 * The statements on the table `routes`, the same on every engine. They are retried while a retry may succeed, and fail
 * with the registry's errors, or with `NotSent` once no call wants them.
 */
export class RouteRows {
  readonly #knex: Knex;
  readonly #observers: StatementObservers;

  constructor(knex: Knex, observers: StatementObservers) {
    this.#knex = knex;
    this.#observers = observers;
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
    const insert = (attempt: number): Promise<unknown> =>
      this.#connected(calls, (connection, wanted) => {
        sent = rowsOf(wanted);
        const text = INSERT + sent.map(({ row }) => toTuple(row)).join(', ');
        const query = this.#knex.raw(
          text,
          sent.flatMap(({ row }) => textsOf(row)),
        );
        const served = sent.map(({ call }) => call);
        return this.#observed(query.connection(connection), { operation: 'INSERT', attempt }, served);
      });
    try {
      await inAttempts(insert);
      return { sent };
    } catch (error) {
      if (isConflict(error) || isRefusedForRow(error)) return { sent, refusal: error };
      throw this.translated(error);
    }
  }

  /** The rows with these identifiers, in any order. @param calls those that wait for the rows */
  withIds(ids: readonly Buffer[], calls: readonly ServedCall[]): Promise<RouteRow[]> {
    return this.#answered(calls, (connection, wanted, attempt) =>
      this.#selected(connection, `select ${ROUTE} from routes where ${isOneOf('id', ids)}`, wanted, attempt),
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
      this.#selected<StoredRow>(connection, lookUpText(values), wanted, 1),
    );
  }

  /**
   * As `lookUp`, with the rows of the writer: load balancers that send single reads to lagging readers keep a
   * transaction on it.
   */
  lookUpOnWriter(values: readonly UniqueValues[], calls: readonly ServedCall[]): Promise<StoredRow[]> {
    return this.#answered(calls, (connection, wanted, attempt) =>
      this.#inTransaction(connection, () =>
        this.#selected<StoredRow>(connection, lookUpText(values), wanted, attempt),
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
      await send('commit').catch(() => {
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

/** One `SELECT` for each unique index, so that each of them is used on every engine. */
function lookUpText(values: readonly UniqueValues[]): string {
  const ids = values.flatMap(({ id }) => id ?? []);
  const shapes = values.flatMap(({ shape }) => shape ?? []);
  const keys = values.flatMap(({ key }) => key ?? []);
  const conditions: string[] = [];
  if (ids.length > 0) conditions.push(isOneOf('id', ids));
  if (keys.length > 0) conditions.push(keys.map(isKey).join(' or '));
  if (shapes.length > 0) conditions.push(isOneOf('shape', shapes));
  return conditions.map((condition) => `select ${STORED} from routes where ${condition}`).join(' union all ');
}

function isKey({ caller, request_id }: NonNullable<UniqueValues['key']>): string {
  return `(caller = ${literal(caller)} and request_id = ${literal(request_id)})`;
}

function isOneOf(column: string, values: readonly Buffer[]): string {
  return `${column} in (${values.map(literal).join(', ')})`;
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
type RawAnswer<Row> = Row[] | [Row[], unknown];

function rowsOf<Row>(answer: RawAnswer<Row>): Row[] {
  const [first] = answer;
  return Array.isArray(first) ? first : (answer as Row[]);
}
