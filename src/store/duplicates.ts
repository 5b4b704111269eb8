import type { Knex } from 'knex';
import { shapeOf } from '../registry/route.js';
import { engineOf } from './database.js';
import { ENGINES } from './engines/engines.js';
import { migrationStatus } from './migrations.js';
import type { Bytes } from './route-columns.js';
import { inCondition, literal } from './route-sql.js';
import { inAttempts } from './attempts.js';

/** The most rows of one statement: the calls of instances wait for the rows that it locks. */
const MAX_ROWS = 500;
/**
 * The most bytes of their paths, each of which takes two hexadecimal digits: less than 1 MiB, the least
 * `max_allowed_packet` in use.
 */
const MAX_PATH_BYTES = 400_000;

/**
 * Makes the routes count as duplicates that were stored while duplicates were allowed, and so have no shape. Each route
 * gets its shape, oldest first, or, if another route holds that shape, its own id in place of it. Instances that refuse
 * duplicates may run. Can run again, and beside itself. Resolves with the number of routes.
 *
 * @throws Error when the database lacks a migration
 */
export async function countDuplicates(knex: Knex): Promise<number> {
  const { pending } = await migrationStatus(knex);
  if (pending.length > 0)
    throw new Error(`The database lacks ${pending.join(', ')}. Migrate it first, without options.`);
  let counted = 0;
  let rows = await uncountedAfter(knex, literal(''));
  for (let last = rows.at(-1); last !== undefined; last = rows.at(-1)) {
    counted += rows.length;
    await countBatch(knex, rows);
    rows = await uncountedAfter(knex, literal(last.id));
  }
  return counted;
}

/** A route without a shape. */
interface Uncounted {
  readonly id: Bytes;
  readonly method: string;
  readonly path: string;
}

/** The routes without a shape whose ids follow, up to a batch. @param id a literal */
async function uncountedAfter(knex: Knex, id: string): Promise<readonly Uncounted[]> {
  const rows: Uncounted[] = await knex('routes')
    .whereNull('shape')
    .whereRaw(`id > ${id}`)
    .orderBy('id')
    .limit(MAX_ROWS)
    .select('id', 'method', 'path');
  let bytes = 0;
  const end = rows.findIndex(({ path }) => (bytes += path.length) > MAX_PATH_BYTES);
  return end === -1 ? rows : rows.slice(0, end);
}

async function countBatch(knex: Knex, rows: readonly Uncounted[]): Promise<void> {
  /** Each shape with the first of its rows. */
  const firsts = new Map<string, string>();
  const cases = rows.map((row) => {
    const id = literal(row.id);
    const shape = literal(shapeOf(row));
    if (!firsts.has(shape)) firsts.set(shape, id);
    return `when ${id} then ${firsts.get(shape) === id ? shape : id}`;
  });
  const still = `where ${inCondition(
    'id',
    rows.map(({ id }) => literal(id)),
  )} and shape is null`;
  const { updateWherePossible } = ENGINES[engineOf(knex)];
  await send(knex, `${updateWherePossible} routes set shape = case id ${cases.join(' ')} end ${still}`);
  await send(knex, `update routes set shape = id ${still}`);
}

/** An instance may lock the same rows in another order, or write to the embedded database. */
async function send(knex: Knex, statement: string): Promise<void> {
  await inAttempts(
    () => knex.raw<unknown>(statement).then(() => undefined),
    () => false,
  );
}
