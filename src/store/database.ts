import type { Knex } from 'knex';
import type { Database } from '../settings/database-url.js';
import type { CallTimes, EngineName } from './engines/engine.js';
import { ENGINES } from './engines/engines.js';

/**
 * Opens the database to serve calls. The embedded database is created, with its folder, if it does not exist. For MySQL,
 * the first query connects. `closeDatabase` must be called at the end.
 *
 * @throws Error when the files of the embedded database cannot be written
 */
export function openForCalls(database: Database, times: CallTimes): Knex {
  return ENGINES[database.engine].openForCalls(database, times);
}

/**
 * Opens the database to migrate it, as `openForCalls` does, but without limits of time, since a migration may take long.
 *
 * @throws Error when the files of the embedded database cannot be written
 */
export function openForMigrations(database: Database): Knex {
  return ENGINES[database.engine].openForMigrations(database);
}

/** The engine of an open database, or of a transaction in it. */
export function engineOf(knex: Knex): EngineName {
  const client = (knex.client as Knex.Client).config.client as unknown;
  for (const name of Object.keys(ENGINES) as EngineName[]) {
    if (ENGINES[name].client === client) return name;
  }
  throw new Error(`Knex has opened no database of this service: ${String(client)}.`);
}

/** `host:port`, or the path of the socket, of an open database; undefined for the embedded database. */
export function addressOf(knex: Knex): string | undefined {
  return (knex.userParams as { readonly address?: string } | undefined)?.address;
}

/** Closes all connections. The file of the embedded database is then complete, and its write-ahead log is empty. */
export async function closeDatabase(knex: Knex): Promise<void> {
  await ENGINES[engineOf(knex)].prepareClose(knex);
  await knex.destroy();
}
