import type { NewRoute } from '../registry/route-store.js';
import type { Route } from '../registry/route.js';

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
export function mostBytes(row: NewRouteRow): number {
  const texts = textsOf(row).reduce((sum, text) => sum + text.length, 0);
  const bytes = row.caller.length + (row.request_id?.length ?? 0) + (row.shape?.length ?? 0);
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

// The statements of every call are written by hand: Knex's builder takes longer to build a statement than to send it.
const ROUTE = ROUTE_COLUMNS.join(', ');
const STORED = `${ROUTE}, caller, request_id, shape`;
const INSERT = `insert into routes (${STORED}) values `;

/** The values of unique columns by which rows are looked up. */
export interface UniqueValues {
  readonly id?: Buffer | undefined;
  readonly key?: { readonly caller: Buffer; readonly request_id: Buffer } | undefined;
  readonly shape?: Buffer | undefined;
}

/** The `INSERT` of rows, with the values for its placeholders. */
export function insertOf(rows: readonly NewRouteRow[]): { readonly text: string; readonly values: string[] } {
  return { text: INSERT + rows.map(toTuple).join(', '), values: rows.flatMap(textsOf) };
}

/** The tuple of a row for `INSERT`: text has placeholders, and all other values are literals. */
function toTuple({ id, created_at_ms, caller, request_id, shape }: NewRouteRow): string {
  return `(${literal(id)}, ?, ?, ?, ?, ${created_at_ms}, ${literal(caller)}, ${literal(request_id)}, ${literal(shape)})`;
}

/** The values for the placeholders of `toTuple`. */
function textsOf({ method, path, middleware, handler }: NewRouteRow): string[] {
  return [method, path, middleware, handler];
}

/** The `SELECT` of the routes with these identifiers. */
export function selectOfIds(ids: readonly Buffer[]): string {
  return `select ${ROUTE} from routes where ${isOneOf('id', ids)}`;
}

/** One `SELECT` for each unique index, so that each of them is used on every engine. */
export function selectOfValues(values: readonly UniqueValues[]): string {
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

/** Bytes as an SQL literal, in the form in which mysql2 sends a bound value, but faster. */
function literal(bytes: Buffer | null): string {
  return bytes === null ? 'null' : `x'${bytes.toString('hex')}'`;
}
