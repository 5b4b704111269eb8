import type { NewRoute } from '../registry/route-store.js';
import type { Route } from '../registry/route.js';
import type { Engine } from './database.js';

/** A route with its row's other values. It has a shape unless it is stored while duplicates are allowed. */
export type RouteRecord = Omit<NewRoute, 'shape'> & { readonly shape: string | undefined };

/** How a column keeps a field. An absent field is NULL. */
interface Column<Field> {
  readonly name: string;
  /** How its value is written: text or bytes in UTF-8, bytes that are hexadecimal digits already, or a number. */
  readonly type: 'text' | 'bytes' | 'digits' | 'number';
  readonly write: (field: Field) => string | number;
  /** @param value as the driver returns it */
  readonly read: (value: unknown) => Field;
}

/** A column for each field: a forgotten one does not compile. */
type ColumnsOf<Fields> = { readonly [Field in keyof Fields]-?: Column<NonNullable<Fields[Field]>> };

function text(name: string): Column<string> {
  return { name, type: 'text', write: String, read: String };
}

/** Text that an index compares: as bytes, every one of them counts. */
function bytes(name: string): Column<string> {
  return { name, type: 'bytes', write: String, read: (value) => bufferOf(value as Bytes).toString() };
}

const OF_ROUTE: ColumnsOf<Route> = {
  id: { name: 'id', type: 'digits', write: digitsOfId, read: idOf },
  method: text('method'),
  path: text('path'),
  middleware: {
    ...text('middleware'),
    write: (names) => JSON.stringify(names),
    read: (value) => JSON.parse(String(value)) as string[],
  },
  handler: text('handler'),
  createdAt: {
    name: 'created_at_ms',
    type: 'number',
    write: (time) => time.getTime(),
    read: (value) => new Date(Number(value)),
  },
};

const BESIDE: ColumnsOf<Omit<RouteRecord, 'route'>> = {
  caller: bytes('caller'),
  idempotencyKey: bytes('request_id'),
  shape: bytes('shape'),
};

/** The columns of a row, each with its value; undefined for NULL. */
const COLUMNS = [
  ...columnsOf(OF_ROUTE).map(([field, column]) => ({
    ...column,
    of: ({ route }: RouteRecord) => written(column, route[field]),
  })),
  ...columnsOf(BESIDE).map(([field, column]) => ({
    ...column,
    of: (row: RouteRecord) => written(column, row[field]),
  })),
];

function columnsOf<Fields extends object>(columns: ColumnsOf<Fields>) {
  return Object.entries(columns) as [keyof Fields, Column<unknown>][];
}

function written({ write }: Column<unknown>, field: unknown): string | number | undefined {
  return field === undefined || field === null ? undefined : write(field);
}

/** The fields of a row, each by its column. */
function fieldsOf<Fields extends object>(columns: ColumnsOf<Fields>, row: Row): Fields {
  const fields: Partial<Record<keyof Fields, unknown>> = {};
  for (const [field, { name, read }] of columnsOf(columns))
    fields[field] = row[name] === null ? undefined : read(row[name]);
  return fields as Fields;
}

/** A row as the driver returns it, by the names of its columns. */
export type Row = Readonly<Record<string, unknown>>;

export function toRoute(row: Row): Route {
  return fieldsOf(OF_ROUTE, row);
}

export function toRecord(row: Row): RouteRecord {
  return { route: toRoute(row), ...fieldsOf(BESIDE, row) };
}

/** Bytes as the drivers return them: mysql2 as a Buffer, libsql as an ArrayBuffer. */
export type Bytes = Buffer | ArrayBuffer;

function bufferOf(value: Bytes): Buffer {
  return value instanceof ArrayBuffer ? Buffer.from(value) : value;
}

const CANONICAL_UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** Whether it is a UUID in canonical lower case, under which alone routes are stored. */
export function isId(id: string): boolean {
  return CANONICAL_UUID.test(id);
}

/** @throws Error when the id is not a UUID in canonical lower case */
function digitsOfId(id: string): string {
  if (!isId(id)) throw new Error('A route is stored under a canonical UUID only.');
  return id.slice(0, 8) + id.slice(9, 13) + id.slice(14, 18) + id.slice(19, 23) + id.slice(24);
}

function idOf(value: unknown): string {
  const hex = bufferOf(value as Bytes).toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

// The statements of every call are written by hand: Knex's builder takes longer to build a statement than to send it.
// All values are hexadecimal, so that none of them ends its literal, whatever SQL mode or character set the server uses.

const ROUTE = Object.values(OF_ROUTE)
  .map(({ name }) => name)
  .join(', ');
const ROW = COLUMNS.map(({ name }) => name).join(', ');

/** What differs between the engines. */
const DIALECTS: Record<Engine, { text: readonly [string, string]; leaveOut: string }> = {
  mysql: {
    text: ["_utf8mb4 x'", "'"],
    // A plain insert would refuse the whole batch. The answer's id is 1 if a row is left out. Unlike `insert ignore`, it
    // still refuses a value that is too long.
    leaveOut: 'on duplicate key update id = if(last_insert_id(1), id, id)',
  },
  sqlite: { text: ["cast(x'", "' as text)"], leaveOut: 'on conflict do nothing' },
};

let scratch = Buffer.allocUnsafe(4_096);

/** A new row as an `INSERT` has it. All values become digits at once: one by one, they would take half as long again. */
export function tupleOf(row: RouteRecord, engine: Engine): string {
  const [before, after] = DIALECTS[engine].text;
  const values = COLUMNS.map((column) => column.of(row));
  const ends: number[] = [];
  let end = 0;
  for (const [i, { type }] of COLUMNS.entries()) {
    const value = values[i];
    if (typeof value === 'string' && type !== 'digits') end += writeToScratch(value, end);
    ends.push(end);
  }
  const hex = scratch.toString('hex', 0, end);
  let tuple = '';
  let start = 0;
  for (const [i, { type }] of COLUMNS.entries()) {
    const value = values[i];
    const next = 2 * (ends[i] ?? 0);
    tuple += i === 0 ? '(' : ', ';
    if (value === undefined) tuple += 'null';
    else if (type === 'text') tuple += before + hex.slice(start, next) + after;
    else if (type === 'bytes') tuple += `x'${hex.slice(start, next)}'`;
    else if (type === 'digits') tuple += `x'${value}'`;
    else tuple += String(value);
    start = next;
  }
  return `${tuple})`;
}

/** @returns how many bytes the text takes */
function writeToScratch(value: string, offset: number): number {
  const most = offset + 3 * value.length;
  if (most > scratch.length) scratch = Buffer.concat([scratch, Buffer.allocUnsafe(most)]);
  return scratch.write(value, offset);
}

/** The `INSERT` of rows, which leaves out those whose id, key or shape is stored already. */
export function insertOf(tuples: readonly string[], engine: Engine): string {
  return `insert into routes (${ROW}) values ${tuples.join(', ')} ${DIALECTS[engine].leaveOut}`;
}

/** A statement for which MySQL demands the grants of an `INSERT`, and which changes nothing. */
export function explainInsert(): string {
  return `explain ${insertOf([`(${COLUMNS.map(() => 'null').join(', ')})`], 'mysql')}`;
}

/** The values of unique columns by which rows are looked up. */
export interface UniqueValues {
  readonly id?: string | undefined;
  readonly key?: { readonly caller: string; readonly idempotencyKey: string } | undefined;
  readonly shape?: string | undefined;
}

/** The `SELECT` of the routes with these canonical identifiers. */
export function selectOfIds(ids: readonly string[]): string {
  return `select ${ROUTE} from routes where ${isOneOf('id', ids.map(literalOfId))}`;
}

/** One `SELECT` for each unique index, so that each of them is used on every engine. */
export function selectOfValues(values: readonly UniqueValues[]): string {
  const ids = values.flatMap(({ id }) => id ?? []);
  const shapes = values.flatMap(({ shape }) => shape ?? []);
  const keys = values.flatMap(({ key }) => key ?? []);
  const conditions: string[] = [];
  if (ids.length > 0) conditions.push(isOneOf('id', ids.map(literalOfId)));
  if (keys.length > 0) conditions.push(keys.map(isKey).join(' or '));
  if (shapes.length > 0) conditions.push(isOneOf('shape', shapes.map(literal)));
  return conditions.map((condition) => `select ${ROW} from routes where ${condition}`).join(' union all ');
}

function isKey({ caller, idempotencyKey }: NonNullable<UniqueValues['key']>): string {
  return `(caller = ${literal(caller)} and request_id = ${literal(idempotencyKey)})`;
}

export function isOneOf(column: string, literals: readonly string[]): string {
  return `${column} in (${literals.join(', ')})`;
}

/** Bytes, or those of a text, as an SQL literal. */
export function literal(value: string | Bytes): string {
  const bytes = typeof value === 'string' ? Buffer.from(value) : bufferOf(value);
  return `x'${bytes.toString('hex')}'`;
}

/** @param id a UUID in canonical lower case */
function literalOfId(id: string): string {
  return `x'${digitsOfId(id)}'`;
}
