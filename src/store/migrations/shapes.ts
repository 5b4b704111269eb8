import type { Knex } from 'knex';

/**
 * The most rows of one statement. Each of them may add 4,250 bytes, its shape in hexadecimal and its id twice, so that
 * the statement stays below 1 MiB, the least `max_allowed_packet` in use, however long the paths are.
 */
export const BATCH = 200;

/** Bytes as the driver returns them: mysql2 as a Buffer, libsql as an ArrayBuffer. */
export type Bytes = Buffer | ArrayBuffer;

export function bufferOf(bytes: Bytes): Buffer {
  return bytes instanceof ArrayBuffer ? Buffer.from(bytes) : bytes;
}

/** The shape as version 0.1.0 makes it, to which only whole segments are parameters. */
export function literalShapeOf({ method, path }: Readonly<Record<'method' | 'path', string>>): string {
  return `${method} ${path.replace(/\/:[A-Za-z_]\w*(?=\/|$)/g, '/:')}`;
}

/** Stores shapes by id, in one statement. @param shapes at most `BATCH`; an id is hexadecimal */
export async function updateShapes(knex: Knex, shapes: ReadonlyMap<string, Buffer | null>): Promise<void> {
  if (shapes.size === 0) return;
  const ids = [...shapes.keys()].map((id) => Buffer.from(id, 'hex'));
  const cases = [...shapes].flatMap(([id, shape]) => [Buffer.from(id, 'hex'), shape]);
  const shape = knex.raw(`case id ${'when ? then ? '.repeat(ids.length)}end`, cases);
  await knex('routes').whereIn('id', ids).update({ shape });
}
