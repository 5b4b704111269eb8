import type { Knex } from 'knex';
import type { DatabaseLocation } from './database.js';
import { migrateUp, migrationStatus, requireRunnable, SCHEMA } from './migrations.js';

/**
 * Makes sure that this version supports the schema. The embedded database is brought up to date; MySQL is left as it
 * is, since many instances may share it, and it may be migrated meanwhile.
 *
 * @returns its version: the number of its migrations, including those of newer versions
 * @throws Error with a remedy in one line, when MySQL's schema lacks something that this version needs, or a newer
 *   version has removed something
 */
export async function ensureSchema(
  knex: Knex,
  { engine }: DatabaseLocation,
  schema = SCHEMA,
): Promise<number> {
  const status = await migrationStatus(knex, schema);
  const newer = status.filter(({ state }) => state === 'newer').map(({ name }) => name);
  requireRunnable(newer, schema);
  const lacking = status.filter(({ state }) => state === 'pending' || state === 'interrupted');
  if (engine === 'mysql' && lacking.some(({ name }) => name <= schema.needed))
    throw new Error('The database schema is out of date. Update it with: npm run migrate');
  if (engine === 'mysql' || lacking.length === 0) return status.length - lacking.length;
  await migrateUp(knex, schema);
  return status.length;
}
