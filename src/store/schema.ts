import type { Knex } from 'knex';
import type { DatabaseLocation } from './database.js';
import { migrateUp, MIGRATIONS, migrationStatus } from './migrations.js';

/**
 * Makes sure that the schema has all migrations of this version; it may also have later ones. The embedded database is
 * migrated if necessary. MySQL is never migrated here, since many instances may share it.
 *
 * @returns the version of the schema: the number of its migrations
 * @throws Error with a remedy in one line, when MySQL's schema lacks a migration
 */
export async function ensureSchema(
  knex: Knex,
  { engine }: DatabaseLocation,
  migrations = MIGRATIONS,
): Promise<number> {
  const { applied, pending } = await migrationStatus(knex, migrations);
  if (pending.length > 0) {
    if (engine === 'mysql')
      throw new Error('The database schema is out of date. Update it with: npm run migrate');
    await migrateUp(knex, migrations);
  }
  return applied.length + pending.length;
}
