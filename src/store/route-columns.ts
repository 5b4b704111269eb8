import type { NewRoute } from '../registry/route-store.js';
import type { Route } from '../registry/route.js';

/** A route with its row's other values. It has a shape unless it is stored while duplicates are allowed. */
export type RouteRecord = Omit<NewRoute, 'shape'> & { readonly shape: string | undefined };

/** How a column keeps a field. An absent field is NULL, which `write` and `read` never get. */
interface Column<Field> {
  readonly name: string;
  /** How its value is written: text or bytes in UTF-8, bytes that are hexadecimal digits already, or a number. */
  readonly type: 'text' | 'bytes' | 'digits' | 'number';
  readonly write: (field: Field) => string | number;
  /** @param value as the driver returns it */
  readonly read: (value: unknown) => Field;
}

/** A column for each field: a forgotten field does not compile. */
type ColumnsOf<Fields> = { readonly [Field in keyof Fields]-?: Column<NonNullable<Fields[Field]>> };

function textColumn(name: string): Column<string> {
  return { name, type: 'text', write: String, read: String };
}

/** Text that an index compares: as bytes, so that every byte counts. */
function bytesColumn(name: string): Column<string> {
  return { name, type: 'bytes', write: String, read: (value) => bufferOf(value as Bytes).toString() };
}

/** The columns of a route's own fields, in the order in which they are read and written. */
export const ROUTE_COLUMNS: ColumnsOf<Route> = {
  id: { name: 'id', type: 'digits', write: digitsOfId, read: idOf },
  method: textColumn('method'),
  path: textColumn('path'),
  middleware: {
    ...textColumn('middleware'),
    write: (names) => JSON.stringify(names),
    read: (value) => JSON.parse(String(value)) as string[],
  },
  handler: textColumn('handler'),
  createdAt: {
    name: 'created_at_ms',
    type: 'number',
    write: (time) => time.getTime(),
    read: (value) => new Date(Number(value)),
  },
};

/** The columns of a row's other values. */
const OTHER_COLUMNS: ColumnsOf<Omit<RouteRecord, 'route'>> = {
  caller: bytesColumn('caller'),
  idempotencyKey: bytesColumn('request_id'),
  shape: bytesColumn('shape'),
};

/** The columns of a row, each with its value; undefined for NULL. */
export const COLUMNS = [
  ...columnsOf(ROUTE_COLUMNS).map(([field, column]) => ({
    ...column,
    of: ({ route }: RouteRecord) => columnValue(column, route[field]),
  })),
  ...columnsOf(OTHER_COLUMNS).map(([field, column]) => ({
    ...column,
    of: (row: RouteRecord) => columnValue(column, row[field]),
  })),
];

function columnsOf<Fields extends object>(columns: ColumnsOf<Fields>) {
  return Object.entries(columns) as [keyof Fields, Column<unknown>][];
}

function columnValue({ write }: Column<unknown>, field: unknown): string | number | undefined {
  return field === undefined || field === null ? undefined : write(field);
}

/** The fields of a row, each by its column. @param row has all of the columns: what it lacks would not read as absent */
function fieldsOf<Fields extends object>(columns: ColumnsOf<Fields>, row: Row): Fields {
  const fields: Partial<Record<keyof Fields, unknown>> = {};
  for (const [field, { name, read }] of columnsOf(columns))
    fields[field] = row[name] === null ? undefined : read(row[name]);
  return fields as Fields;
}

/** A row as the driver returns it, by the names of its columns. */
export type Row = Readonly<Record<string, unknown>>;

/** @param row has at least the columns of `ROUTE_COLUMNS` */
export function toRoute(row: Row): Route {
  return fieldsOf(ROUTE_COLUMNS, row);
}

/** @param row has all of the `COLUMNS` */
export function toRecord(row: Row): RouteRecord {
  return { route: toRoute(row), ...fieldsOf(OTHER_COLUMNS, row) };
}

/** Bytes as the drivers return them: mysql2 as a Buffer, libsql as an ArrayBuffer. */
export type Bytes = Buffer | ArrayBuffer;

export function bufferOf(value: Bytes): Buffer {
  return value instanceof ArrayBuffer ? Buffer.from(value) : value;
}

const CANONICAL_UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** Whether it is a UUID in canonical lower case, under which alone routes are stored. */
export function isId(id: string): boolean {
  return CANONICAL_UUID.test(id);
}

/** @throws Error when the id is not a UUID in canonical lower case */
export function digitsOfId(id: string): string {
  if (!isId(id)) throw new Error('A route is stored under a canonical UUID only.');
  return id.slice(0, 8) + id.slice(9, 13) + id.slice(14, 18) + id.slice(19, 23) + id.slice(24);
}

function idOf(value: unknown): string {
  const hex = bufferOf(value as Bytes).toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}
