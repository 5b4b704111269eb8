import { hash } from 'node:crypto';
import type { Knex } from 'knex';
import { isMysql } from './0001-routes.js';

/** The most rows of one statement, which has about 100 KB if the paths have the usual length. */
const BATCH = 500;
const BEFORE_ALL = Buffer.alloc(0);

/** A route that holds its shape. */
interface Holder {
  /** mysql2 returns a Buffer, libsql an ArrayBuffer. */
  readonly id: Buffer | ArrayBuffer;
  readonly method: string;
  readonly path: string;
}

/**
 * Stores shapes as text instead of their SHA-256, so that neighbouring paths are neighbours in the index. It can safely
 * run again on its own result. A running instance of an earlier version would still store hashes: stop all of them
 * first.
 */
export const shapesAsText = {
  name: '0002-shapes-as-text',

  async up(knex: Knex): Promise<void> {
    // The longest method, a space and the longest path, all of them ASCII.
    await changeType(knex, 'varbinary(2081)');
    await changeShapes(knex, (holder) => Buffer.from(shapeOf(holder)));
  },

  async down(knex: Knex): Promise<void> {
    await changeShapes(knex, (holder) => Buffer.from(hash('sha256', shapeOf(holder)), 'hex'));
    await changeType(knex, 'binary(32)');
  },
};

/** SQLite stores any bytes in the column, whatever its type. */
async function changeType(knex: Knex, type: string): Promise<void> {
  if (!isMysql(knex)) return;
  await knex.schema.alterTable('routes', (table) => {
    table.specificType('shape', type).nullable().alter();
  });
}

async function changeShapes(knex: Knex, shapeFor: (holder: Holder) => Buffer): Promise<void> {
  let last: Buffer | undefined = BEFORE_ALL;
  while (last !== undefined) {
    const holders = await holdersAfter(knex, last);
    const ids = holders.map(({ id }) => bufferOf(id));
    if (ids.length > 0) {
      const cases = holders.flatMap((holder) => [bufferOf(holder.id), shapeFor(holder)]);
      const shape = knex.raw(`case id ${'when ? then ? '.repeat(ids.length)}end`, cases);
      await knex('routes').whereIn('id', ids).update({ shape });
    }
    last = ids.at(-1);
  }
}

/** The method, and the path with its parameter names erased. */
function shapeOf({ method, path }: Holder): string {
  return `${method} ${path.replace(/\/:[^/]*/g, '/:')}`;
}

function bufferOf(bytes: Buffer | ArrayBuffer): Buffer {
  return bytes instanceof ArrayBuffer ? Buffer.from(bytes) : bytes;
}

function holdersAfter(knex: Knex, id: Buffer): Promise<Holder[]> {
  return knex('routes')
    .whereNotNull('shape')
    .where('id', '>', id)
    .orderBy('id')
    .limit(BATCH)
    .select('id', 'method', 'path');
}
