import { setTimeout as delay } from 'node:timers/promises';
import type { Knex } from 'knex';
import type { NewRoute } from '../registry/route-store.js';
import type { Route } from '../registry/route.js';
import { isWanted, NotSent, type Waiting } from './batch.js';
import { addressOf, discard } from './database.js';
import { isConflict, isOutOfReach, isRefusedForRow, isTransient, translate } from './driver-errors.js';

/** A row of the table `routes`. */
export interface RouteRow {
  /** mysql2 returns a Buffer, libsql an ArrayBuffer. */
  readonly id: Buffer | ArrayBuffer;
  readonly method: string;
  readonly path: string;
  /** A JSON array of strings. */
  readonly middleware: string;
  readonly handler: string;
  readonly created_at_ms: number;
}

/** A row with the additional columns that an insert writes. */
export interface NewRouteRow extends RouteRow {
  readonly id: Buffer;
  readonly caller: Buffer;
  readonly request_id: Buffer | null;
  readonly shape: Buffer | null;
}

/** A row as it is looked up by its unique columns. */
export interface StoredRow extends RouteRow {
  readonly caller: Buffer | ArrayBuffer;
  readonly request_id: Buffer | ArrayBuffer | null;
  readonly shape: Buffer | ArrayBuffer | null;
}

/** A route that is stored. Only the first of a shape holds it. */
export type StoredRoute = Omit<NewRoute, 'shape'> & { readonly shape: string | undefined };

/** The columns of a route, listed so that a new column never changes what a query reads. */
export const ROUTE_COLUMNS = ['id', 'method', 'path', 'middleware', 'handler', 'created_at_ms'] as const;

/** The most bytes of a row's method, id and time, and of what is between its values. */
const REST_OF_ROW = 128;

const CANONICAL_UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** The 16 bytes of a UUID in canonical lower case; undefined for any other string. */
export function encodeId(id: string): Buffer | undefined {
  if (!CANONICAL_UUID.test(id)) return undefined;
  const hex = id.slice(0, 8) + id.slice(9, 13) + id.slice(14, 18) + id.slice(19, 23) + id.slice(24);
  return Buffer.from(hex, 'hex');
}

/** The canonical form of the 16 bytes of a UUID. */
function decodeId(bytes: Buffer | ArrayBuffer): string {
  const hex = bufferOf(bytes).toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

/** The same bytes, whichever driver returned them. */
function bufferOf(bytes: Buffer | ArrayBuffer): Buffer {
  return bytes instanceof ArrayBuffer ? Buffer.from(bytes) : bytes;
}

/** @throws Error when the id is not a UUID in canonical lower case */
export function toRow({ route, caller, idempotencyKey, shape }: NewRoute): NewRouteRow {
  const id = encodeId(route.id);
  if (id === undefined) throw new Error('A route is stored under a canonical UUID only.');
  return {
    id,
    method: route.method,
    path: route.path,
    middleware: JSON.stringify(route.middleware),
    handler: route.handler,
    created_at_ms: route.createdAt.getTime(),
    caller: Buffer.from(caller),
    request_id: idempotencyKey === undefined ? null : Buffer.from(idempotencyKey),
    shape: Buffer.from(shape),
  };
}

/** The most bytes of `INSERT` that a row takes: three for a UTF-16 unit, two for a byte in hexadecimal digits. */
export function mostBytes({ path, middleware, handler, caller, request_id, shape }: NewRouteRow): number {
  const texts = path.length + middleware.length + handler.length;
  const bytes = caller.length + (request_id?.length ?? 0) + (shape?.length ?? 0);
  return 3 * texts + 2 * bytes + REST_OF_ROW;
}

export function toRoute(row: RouteRow): Route {
  return {
    id: decodeId(row.id),
    method: row.method,
    path: row.path,
    middleware: JSON.parse(row.middleware) as string[],
    handler: row.handler,
    createdAt: new Date(row.created_at_ms),
  };
}

export function toStored(row: StoredRow): StoredRoute {
  return {
    route: toRoute(row),
    caller: bufferOf(row.caller).toString(),
    idempotencyKey: row.request_id === null ? undefined : bufferOf(row.request_id).toString(),
    shape: row.shape === null ? undefined : bufferOf(row.shape).toString(),
  };
}

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
      const again = isTransient(error) || (attempt > 1 && isOutOfReach(error));
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
