import type { Knex } from 'knex';
import { classify, endsConnection } from '../driver-errors.js';
import { BATCH, bufferOf, type Bytes, literalShapeOf, updateShapes } from './shapes.js';

/** The size of the column `shape`. */
const SHAPE_MAX_BYTES = 2_081;
/** How often a row is tried, first in batches: an instance may take its shape between two statements. */
const ATTEMPTS = 20;

/** A route. Its id is hexadecimal, and its shape null if another route holds that. */
interface Row {
  readonly id: string;
  readonly method: string;
  readonly path: string;
  readonly shape: string | null;
}

/** Runs the statements of one batch, by default on the same connection. */
type RunBatch = (work: (knex: Knex) => Promise<number>) => Promise<number>;

/**
 * Reads paths as patterns: a colon anywhere in a segment begins a parameter, and `*name` is a wildcard, so the shape
 * loses their names. The oldest route of each shape holds it. Can safely run again on its own result. A running instance
 * of the previous version still stores such shapes with the names.
 */
export const patternShapes = {
  name: '0003-pattern-shapes',

  async up(knex: Knex): Promise<void> {
    await rereadPaths(knex);
  },

  async down(knex: Knex): Promise<void> {
    await changeShapes(knex, literalShapeOf);
  },
};

/** Gives every route the shape that `up` gives it. Resolves with the number of routes whose shape was another one. */
export function rereadPaths(knex: Knex, runBatch?: RunBatch): Promise<number> {
  return changeShapes(knex, patternShapeOf, runBatch);
}

const NAME = String.raw`(?:[A-Za-z0-9_$]+|"[^"\\]+")`;
/** What changes in a shape, or begins something that does not: a token of a pattern, or else one character. */
const TOKEN = new RegExp(String.raw`\\.|::|:${NAME}?|[/{(]\*${NAME}|\(\?|[^]`, 'y');
/** A constraint of the parameter before it. */
const CONSTRAINT = /[({<](?![./-]:|[/-]\*)/y;
const CLOSING: Readonly<Record<string, string>> = { '(': ')', '{': '}', '<': '>' };
/** A set of characters in a constraint, in which brackets stand for themselves. */
const CHARACTER_SET = /\[\^?\]?(?:\\[^]|[^\]\\])*\]/y;

/** The shape as the registry of this version makes it: without the names of parameters and wildcards. */
export function patternShapeOf({ method, path }: Pick<Row, 'method' | 'path'>): string {
  let shape = `${method} `;
  let index = 0;
  while (index < path.length) {
    TOKEN.lastIndex = index;
    const token = TOKEN.exec(path)?.[0] ?? '';
    const start = token === '(?' ? index : index + token.length;
    CONSTRAINT.lastIndex = start;
    const isParameter = token !== '::' && /^:./.test(token);
    const isOpaque = token === '(?' || (isParameter && CONSTRAINT.test(path));
    if (isParameter) shape += ':';
    else if (token.startsWith(':')) shape += '\\:';
    else if (token.length > 2) shape += token.slice(0, 2);
    else if (token !== '(?') shape += token;
    index = isOpaque ? endOfOpaque(path, start) : start;
    shape += path.slice(start, index);
  }
  return shape;
}

/** Where the bracket that begins here ends: only `\`, brackets of its own kind, and sets of characters count. */
function endOfOpaque(path: string, start: number): number {
  const opening = path.charAt(start);
  let depth = 0;
  let hasSets = true;
  for (let index = start; index < path.length; index++) {
    const character = path.charAt(index);
    if (character === '\\') index++;
    else if (character === '[' && hasSets) {
      CHARACTER_SET.lastIndex = index;
      // Without an end, neither this one nor a later one is a set.
      hasSets = CHARACTER_SET.test(path);
      if (hasSets) index = CHARACTER_SET.lastIndex - 1;
    } else if (character === opening) depth++;
    else if (character === CLOSING[opening] && --depth === 0) return index + 1;
  }
  return path.length;
}

async function changeShapes(
  knex: Knex,
  shapeFor: (row: Row) => string,
  runBatch: RunBatch = (work) => work(knex),
): Promise<number> {
  let changes = 0;
  let rows = await rowsAfter(knex, '');
  for (let last = rows.at(-1); last !== undefined; last = rows.at(-1)) {
    const batch = rows;
    changes += await runBatch((connection) => changeBatch(connection, batch, shapeFor));
    rows = await rowsAfter(knex, last.id);
  }
  return changes;
}

/**
 * Changes a batch. If an instance takes one of its shapes meanwhile, or has to be waited for, changes it half by half.
 * Resolves with the number of changes.
 */
async function changeBatch(
  knex: Knex,
  rows: readonly Row[],
  shapeFor: (row: Row) => string,
  attempt = 1,
): Promise<number> {
  try {
    return await giveToOldest(knex, rows, shapeFor);
  } catch (error) {
    const { kind, retry } = classify(error);
    const again = kind === 'conflict' || (retry === 'at once' && !endsConnection(error));
    if (!again || attempt === ATTEMPTS) throw error;
  }
  let changes = 0;
  const half = Math.ceil(rows.length / 2);
  for (const part of [rows.slice(0, half), rows.slice(half)])
    if (part.length > 0) changes += await changeBatch(knex, part, shapeFor, attempt + 1);
  return changes;
}

/**
 * Gives each row its shape, unless an older one has it. The rows before the batch have theirs already; younger ones get
 * their own when their turn comes.
 */
async function giveToOldest(
  knex: Knex,
  rows: readonly Row[],
  shapeFor: (row: Row) => string,
): Promise<number> {
  const oldest = new Map<string, string>();
  for (const row of rows) {
    const shape = shapeFor(row);
    // A longer one has colons without a name, so no new route can have the same.
    if (shape.length <= SHAPE_MAX_BYTES && !oldest.has(shape)) oldest.set(shape, row.id);
  }
  const before = new Map(rows.map(({ id, shape }) => [id, shape]));
  const after = new Map<string, string | null>(rows.map(({ id }) => [id, null]));
  const released = new Map<string, null>();
  const holders = await holdersOf(knex, [...oldest.keys()]);
  for (const [shape, id] of oldest) {
    const holder = holders.get(shape) ?? id;
    // A row of the batch that holds it, but for which it is not meant, will have its own.
    if (holder < id && !after.has(holder)) continue;
    after.set(id, shape);
    if (holder !== id) released.set(holder, null);
  }
  // First, since the index is unique.
  await updateShapes(knex, released);
  const changed = [...after].filter(([id, shape]) => shape !== (released.has(id) ? null : before.get(id)));
  await updateShapes(
    knex,
    new Map(changed.map(([id, shape]) => [id, shape === null ? null : Buffer.from(shape)])),
  );
  return [...after].filter(([id, shape]) => shape !== before.get(id)).length;
}

/**
 * The next rows to which this version or an earlier one gives other shapes: those with a colon within a segment, `*`, `$`
 * or `[`.
 */
async function rowsAfter(knex: Knex, id: string): Promise<Row[]> {
  const rows: (Omit<Row, 'id' | 'shape'> & { id: Bytes; shape: Bytes | null })[] = await knex('routes')
    .where('id', '>', Buffer.from(id, 'hex'))
    .whereRaw("(replace(path, '/:', '') like '%:%' or path like '%*%' or path like '%$%' or path like '%[%')")
    .orderBy('id')
    .limit(BATCH)
    .select('id', 'method', 'path', 'shape');
  return rows.map((row) => ({
    ...row,
    id: bufferOf(row.id).toString('hex'),
    shape: row.shape === null ? null : bufferOf(row.shape).toString('latin1'),
  }));
}

/** The ids of the rows that hold these shapes, by shape. */
async function holdersOf(knex: Knex, shapes: readonly string[]): Promise<Map<string, string>> {
  const bytes = shapes.map((shape) => Buffer.from(shape));
  const rows: { id: Bytes; shape: Bytes }[] = await knex('routes')
    .whereIn('shape', bytes)
    .select('id', 'shape');
  return new Map(
    rows.map(({ id, shape }) => [bufferOf(shape).toString('latin1'), bufferOf(id).toString('hex')]),
  );
}
