import { hash } from 'node:crypto';
import type { Knex } from 'knex';
import { isMysql } from './0001-routes.js';
import { BATCH, bufferOf, type Bytes, literalShapeOf, updateShapes } from './shapes.js';

/** A route that holds its shape. */
interface Holder {
  readonly id: Bytes;
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
    await changeShapes(knex, (holder) => Buffer.from(literalShapeOf(holder)));
  },

  async down(knex: Knex): Promise<void> {
    await changeShapes(knex, (holder) => Buffer.from(hash('sha256', literalShapeOf(holder)), 'hex'));
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
  let holders = await holdersAfter(knex, '');
  while (holders.length > 0) {
    const shapes = new Map(
      holders.map((holder) => [bufferOf(holder.id).toString('hex'), shapeFor(holder)] as const),
    );
    await updateShapes(knex, shapes);
    holders = await holdersAfter(knex, [...shapes.keys()].at(-1) ?? '');
  }
}

/** The next routes that hold their shapes. @param id hexadecimal */
function holdersAfter(knex: Knex, id: string): Promise<Holder[]> {
  return knex('routes')
    .whereNotNull('shape')
    .where('id', '>', Buffer.from(id, 'hex'))
    .orderBy('id')
    .limit(BATCH)
    .select('id', 'method', 'path');
}
