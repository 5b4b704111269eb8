import {
  type Bytes,
  bufferOf,
  COLUMNS,
  digitsOfId,
  ROUTE_COLUMNS,
  type RouteRecord,
} from './route-columns.js';

// The statements that every RPC runs are written by hand: Knex's builder takes longer to build a statement than to send
// it. All texts and ids are written in hexadecimal, so that none of them ends its literal, whatever SQL mode or character
// set the server uses.

/** The most bytes of UTF-8 for each of the units of 16 bits that `length` counts. */
const MAX_BYTES_PER_UNIT = 3;

const ROUTE_COLUMN_NAMES = Object.values(ROUTE_COLUMNS)
  .map(({ name }) => name)
  .join(', ');
const ALL_COLUMN_NAMES = COLUMNS.map(({ name }) => name).join(', ');

/** How the SQL of the table `routes` differs between the engines. */
export interface SqlDialect {
  /** A text as a literal. @param hex the hexadecimal digits of its UTF-8 */
  readonly textLiteral: (hex: string) => string;
  /** The clause that makes an `INSERT` leave out the rows whose id, key or shape is stored already, but no others. */
  readonly onConflict: string;
}

/** Where `tupleOf` writes the texts of a row. All rows share it, so it is never used across an `await`. It only grows. */
let scratch = Buffer.allocUnsafe(4_096);

/**
 * A new row as an `INSERT` has it, in parentheses. Converting all texts to hexadecimal digits at once takes two thirds of
 * the time of converting each by itself, so there are two passes over the columns.
 */
export function tupleOf(record: RouteRecord, { textLiteral }: SqlDialect): string {
  const values = COLUMNS.map((column) => column.of(record));

  // First pass: appends each text to `scratch`, and notes where it ends. A column without text ends where the column
  // before it ends, so its slice is empty.
  const ends: number[] = [];
  let end = 0;
  for (const [i, { type }] of COLUMNS.entries()) {
    const value = values[i];
    const isText = typeof value === 'string' && type !== 'digits';
    if (isText) end += writeToScratch(value, end);
    ends.push(end);
  }

  // Then the whole of `scratch` that is in use is converted at once.
  const hex = scratch.toString('hex', 0, end);

  // Second pass: slices out the digits of each column, two for each byte.
  let tuple = '';
  let hexStart = 0;
  for (const [i, { type }] of COLUMNS.entries()) {
    const value = values[i];
    const hexEnd = 2 * (ends[i] ?? 0);
    tuple += i === 0 ? '(' : ', ';
    // The digits of texts and bytes come from `hex`; a value of type 'digits' consists of hexadecimal digits already.
    if (value === undefined) tuple += 'null';
    else if (type === 'text') tuple += textLiteral(hex.slice(hexStart, hexEnd));
    else if (type === 'bytes') tuple += `x'${hex.slice(hexStart, hexEnd)}'`;
    else if (type === 'digits') tuple += `x'${value}'`;
    else tuple += String(value); // A number.
    hexStart = hexEnd;
  }
  return `${tuple})`;
}

/** Writes a text to `scratch`, which it enlarges if need be. @returns how many bytes the text takes */
function writeToScratch(value: string, offset: number): number {
  const end = offset + MAX_BYTES_PER_UNIT * value.length;
  if (end > scratch.length) scratch = Buffer.concat([scratch, Buffer.allocUnsafe(end)]);
  return scratch.write(value, offset);
}

/** The `INSERT` of rows, which leaves out those whose id, key or shape is stored already. */
export function insertOf(tuples: readonly string[], { onConflict }: SqlDialect): string {
  return `insert into routes (${ALL_COLUMN_NAMES}) values ${tuples.join(', ')} ${onConflict}`;
}

/** An `INSERT` of a row without values, for SQL's `EXPLAIN`, which does not execute it. */
export function emptyInsert(dialect: SqlDialect): string {
  return insertOf([`(${COLUMNS.map(() => 'null').join(', ')})`], dialect);
}

/** The values of unique columns by which rows are looked up. */
export interface UniqueValues {
  readonly id?: string | undefined;
  /** A caller and its idempotency key, which is in the column `request_id`. */
  readonly key?: { readonly caller: string; readonly idempotencyKey: string } | undefined;
  readonly shape?: string | undefined;
}

/** The `SELECT` of the routes with these canonical identifiers, at least one, without the other columns of their rows. */
export function selectRoutesByIds(ids: readonly string[]): string {
  return `select ${ROUTE_COLUMN_NAMES} from routes where ${inCondition('id', ids.map(literalOfId))}`;
}

/**
 * The `SELECT` of the rows that have one of these values, at least one, with all of their columns. It has one part for each
 * unique index, so that each index is used on every engine. A row with values of several parts is returned several times.
 */
export function selectRowsByUniqueValues(values: readonly UniqueValues[]): string {
  const ids = values.flatMap(({ id }) => id ?? []);
  const shapes = values.flatMap(({ shape }) => shape ?? []);
  const keys = values.flatMap(({ key }) => key ?? []);
  const conditions: string[] = [];
  if (ids.length > 0) conditions.push(inCondition('id', ids.map(literalOfId)));
  if (keys.length > 0) conditions.push(keys.map(keyCondition).join(' or '));
  if (shapes.length > 0) conditions.push(inCondition('shape', shapes.map(literal)));
  return conditions
    .map((condition) => `select ${ALL_COLUMN_NAMES} from routes where ${condition}`)
    .join(' union all ');
}

function keyCondition({ caller, idempotencyKey }: NonNullable<UniqueValues['key']>): string {
  return `(caller = ${literal(caller)} and request_id = ${literal(idempotencyKey)})`;
}

/** @param literals at least one: SQL has no empty list */
export function inCondition(column: string, literals: readonly string[]): string {
  return `${column} in (${literals.join(', ')})`;
}

/**
 * Bytes, or those of a text, as an SQL literal to compare with a binary column (id, caller, request_id, shape). For the
 * columns of texts, see `SqlDialect.textLiteral`.
 */
export function literal(value: string | Bytes): string {
  const buffer = typeof value === 'string' ? Buffer.from(value) : bufferOf(value);
  return `x'${buffer.toString('hex')}'`;
}

/** @param id a UUID in canonical lower case */
function literalOfId(id: string): string {
  return `x'${digitsOfId(id)}'`;
}
