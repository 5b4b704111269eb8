import type { Knex } from 'knex';
import type { DatabaseLocation } from './database.js';
import { migrateUp, migrationStatus } from './migrations.js';

/**
 * Makes sure that the schema is the one that this version needs. The embedded database is migrated; MySQL is
 * left as it is, since many instances may share it.
 *
 * @returns its version: the number of its migrations
 * @throws Error with one line that names the command, when MySQL's schema is out of date
 */
export async function ensureSchema(knex: Knex, { engine }: DatabaseLocation): Promise<number> {
  const status = await migrationStatus(knex);
  if (status.every(({ state }) => state === 'applied')) return status.length;
  if (engine === 'mysql')
    throw new Error('The database schema is out of date. Update it with: npm run migrate');
  await migrateUp(knex);
  return status.length;
}
