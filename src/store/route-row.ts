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

/** The most bytes of a row's time, and of what is around and between its values. */
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

/** The most bytes of `INSERT` that a row takes: MySQL gets each byte of its values as two hexadecimal digits. */
export function mostBytes(row: NewRouteRow): number {
  return 2 * bytesOf(row) + REST_OF_ROW;
}

/** The bytes of a row's values, but for its time. */
function bytesOf({ id, method, path, middleware, handler, caller, request_id, shape }: NewRouteRow): number {
  const names = Buffer.byteLength(middleware) + Buffer.byteLength(handler);
  const keys = id.length + caller.length + (request_id?.length ?? 0) + (shape?.length ?? 0);
  return Buffer.byteLength(method) + Buffer.byteLength(path) + names + keys;
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

/** An `INSERT`, with the values for its placeholders. */
interface InsertStatement {
  readonly text: string;
  readonly values: readonly string[];
}

/** The `INSERT` of rows for the embedded database, whose texts are bound: it takes a hexadecimal literal for a BLOB. */
export function boundInsertOf(rows: readonly NewRouteRow[]): InsertStatement {
  const tuples = rows.map(
    ({ id, created_at_ms, caller, request_id, shape }) =>
      `(${literal(id)}, ?, ?, ?, ?, ${created_at_ms}, ${literal(caller)}, ${literal(request_id)}, ${literal(shape)})`,
  );
  return { text: INSERT + tuples.join(', '), values: rows.flatMap(textsOf) };
}

function textsOf({ method, path, middleware, handler }: NewRouteRow): string[] {
  return [method, path, middleware, handler];
}

/**
 * The `INSERT` of rows for MySQL. The driver would escape bound texts for one SQL mode, and the server could read them
 * in another: nothing within hexadecimal digits ends a literal, in any mode or character set.
 */
export function literalInsertOf(rows: readonly NewRouteRow[]): InsertStatement {
  return { text: INSERT + rows.map(literalTuple).join(', '), values: [] };
}

let scratch = Buffer.allocUnsafe(4_096);

/** All values become digits at once: one by one, they would take half as long again. */
function literalTuple(row: NewRouteRow): string {
  const { id, method, path, middleware, handler, created_at_ms, caller, request_id, shape } = row;
  const size = bytesOf(row);
  if (size > scratch.length) scratch = Buffer.allocUnsafe(size);
  const idEnd = id.copy(scratch);
  const methodEnd = idEnd + scratch.write(method, idEnd);
  const pathEnd = methodEnd + scratch.write(path, methodEnd);
  const middlewareEnd = pathEnd + scratch.write(middleware, pathEnd);
  const handlerEnd = middlewareEnd + scratch.write(handler, middlewareEnd);
  const callerEnd = handlerEnd + caller.copy(scratch, handlerEnd);
  const keyEnd = callerEnd + (request_id?.copy(scratch, callerEnd) ?? 0);
  const shapeEnd = keyEnd + (shape?.copy(scratch, keyEnd) ?? 0);
  const hex = scratch.toString('hex', 0, shapeEnd);
  const idHex = hex.slice(0, 2 * idEnd);
  const methodHex = hex.slice(2 * idEnd, 2 * methodEnd);
  const pathHex = hex.slice(2 * methodEnd, 2 * pathEnd);
  const middlewareHex = hex.slice(2 * pathEnd, 2 * middlewareEnd);
  const handlerHex = hex.slice(2 * middlewareEnd, 2 * handlerEnd);
  const callerHex = hex.slice(2 * handlerEnd, 2 * callerEnd);
  const key = request_id === null ? 'null' : `x'${hex.slice(2 * callerEnd, 2 * keyEnd)}'`;
  const erased = shape === null ? 'null' : `x'${hex.slice(2 * keyEnd)}'`;
  return `(x'${idHex}', _utf8mb4 x'${methodHex}', _utf8mb4 x'${pathHex}', _utf8mb4 x'${middlewareHex}', _utf8mb4 x'${handlerHex}', ${created_at_ms}, x'${callerHex}', ${key}, ${erased})`;
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

/** Bytes as an SQL literal. */
function literal(bytes: Buffer | null): string {
  return bytes === null ? 'null' : `x'${bytes.toString('hex')}'`;
}
