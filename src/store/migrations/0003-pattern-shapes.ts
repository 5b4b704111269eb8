import type { Knex } from 'knex';

/** The most rows of one statement, which has about 100 KB if the paths have the usual length. */
const BATCH = 500;
/** The size of the column `shape`. */
const SHAPE_MAX_BYTES = 2_081;

/** What changes in a shape, or begins something that does not: a token of a pattern, or else one character. */
const TOKEN = /\\.|::|:(?:[A-Za-z_]\w*)?|[/{(]\*[A-Za-z_]\w*|\(\?|[^]/y;
/** A constraint of the parameter before it. */
const CONSTRAINT = /[({<](?![./-]:|[/-]\*)/y;
const CLOSING: Readonly<Record<string, string>> = { '(': ')', '{': '}', '<': '>' };

/** A route. Its id is hexadecimal, and its shape null if another route holds that. */
interface Row {
  readonly id: string;
  readonly method: string;
  readonly path: string;
  readonly shape: string | null;
}

/** Bytes as the driver returns them: mysql2 as a Buffer, libsql as an ArrayBuffer. */
type Bytes = Buffer | ArrayBuffer;

/**
 * Reads paths as patterns: a colon within a segment begins a parameter, and `*name` is a wildcard, so the shape loses
 * their names. The oldest route of each shape holds it. Can safely run again on its own result. A running instance of
 * the previous version still stores such shapes with the names.
 */
export const patternShapes = {
  name: '0003-pattern-shapes',

  async up(knex: Knex): Promise<void> {
    await changeShapes(knex, patternShapeOf);
  },

  async down(knex: Knex): Promise<void> {
    await changeShapes(knex, literalShapeOf);
  },
};

/** The shape as the registry of this version makes it: without the names of parameters and wildcards. */
function patternShapeOf({ method, path }: Row): string {
  let shape = `${method} `;
  let index = 0;
  while (index < path.length) {
    TOKEN.lastIndex = index;
    const token = TOKEN.exec(path)?.[0] ?? '';
    const start = token === '(?' ? index : index + token.length;
    CONSTRAINT.lastIndex = start;
    const isParameter = /^:\w/.test(token);
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

/** Where the bracket that begins here ends: only `\` and brackets of its own kind count. */
function endOfOpaque(path: string, start: number): number {
  const opening = path.charAt(start);
  let depth = 0;
  for (let index = start; index < path.length; index++) {
    const character = path.charAt(index);
    if (character === '\\') index++;
    else if (character === opening) depth++;
    else if (character === CLOSING[opening] && --depth === 0) return index + 1;
  }
  return path.length;
}

/** The shape in which only whole segments are parameters. */
function literalShapeOf({ method, path }: Row): string {
  return `${method} ${path.replace(/\/:[A-Za-z_]\w*(?=\/|$)/g, '/:')}`;
}

async function changeShapes(knex: Knex, shapeFor: (row: Row) => string): Promise<void> {
  let rows = await rowsAfter(knex, '');
  for (let last = rows.at(-1); last !== undefined; last = rows.at(-1)) {
    await changeBatch(knex, rows, shapeFor);
    rows = await rowsAfter(knex, last.id);
  }
}

/** Gives each row its shape, unless an older one has it. The rows before the batch have theirs already. */
async function changeBatch(knex: Knex, rows: readonly Row[], shapeFor: (row: Row) => string): Promise<void> {
  const oldest = new Map<string, string>();
  for (const row of rows) {
    const shape = shapeFor(row);
    // A longer one has colons without a name, so no new route can have the same.
    if (shape.length <= SHAPE_MAX_BYTES && !oldest.has(shape)) oldest.set(shape, row.id);
  }
  const shapes = new Map<string, string | null>(rows.map(({ id }) => [id, null]));
  const released = new Map<string, null>();
  const first = rows[0]?.id ?? '';
  const holders = await holdersOf(knex, [...oldest.keys()]);
  for (const [shape, id] of oldest) {
    const holder = holders.get(shape) ?? id;
    if (holder < first) continue;
    shapes.set(id, shape);
    if (holder !== id) released.set(holder, null);
  }
  // First, since the index is unique. A younger row than the batch gets its own shape when its turn comes.
  await update(knex, released);
  const changed = rows.filter(({ id, shape }) => shapes.get(id) !== (released.has(id) ? null : shape));
  await update(knex, new Map(changed.map(({ id }) => [id, shapes.get(id) ?? null])));
}

/**
 * The next rows whose shapes may change. No other row can have a shape of theirs: those have a colon within a segment,
 * or an asterisk, before and after.
 */
async function rowsAfter(knex: Knex, id: string): Promise<Row[]> {
  const rows: (Omit<Row, 'id' | 'shape'> & { id: Bytes; shape: Bytes | null })[] = await knex('routes')
    .where('id', '>', Buffer.from(id, 'hex'))
    .whereRaw("(replace(path, '/:', '') like '%:%' or path like '%*%')")
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

/** Stores shapes by id. */
async function update(knex: Knex, shapes: ReadonlyMap<string, string | null>): Promise<void> {
  if (shapes.size === 0) return;
  const ids = [...shapes.keys()].map((id) => Buffer.from(id, 'hex'));
  const values = [...shapes.values()].map((shape) => (shape === null ? null : Buffer.from(shape)));
  const cases = ids.flatMap((id, index) => [id, values[index] ?? null]);
  const shape = knex.raw(`case id ${'when ? then ? '.repeat(ids.length)}end`, cases);
  await knex('routes').whereIn('id', ids).update({ shape });
}

function bufferOf(bytes: Bytes): Buffer {
  return bytes instanceof ArrayBuffer ? Buffer.from(bytes) : bytes;
}
