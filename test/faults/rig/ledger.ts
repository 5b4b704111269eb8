import { parseDatabaseUrl } from '../../../src/settings/database-url.js';
import { closeDatabase, openForMigrations } from '../../../src/store/database.js';
import { query } from './database-server.js';
import { type Create, isGood } from './callers.js';

/** The responses that callers got, compared with the stored routes. */
export interface Ledger {
  readonly acknowledged: number;
  /** Acknowledged but not stored. */
  readonly lost: number;
  /** Stored more than once. */
  readonly doubled: number;
  /** Refused or without a response, but stored. */
  readonly unacknowledged: number;
}

/** Compares the stored routes with the creates. */
export async function ledgerOf(databaseUrl: string, creates: readonly Create[]): Promise<Ledger> {
  const rows = await query(databaseUrl, 'select handler, count(*) as copies from routes group by handler');
  const copies = new Map(rows.map((row) => [String(row['handler']), Number(row['copies'])]));
  const good = creates.filter(({ end }) => isGood(end));
  return {
    acknowledged: good.length,
    lost: good.filter(({ handler }) => !copies.has(handler)).length,
    doubled: creates.filter(({ handler }) => (copies.get(handler) ?? 0) > 1).length,
    unacknowledged: creates.filter(({ handler, end }) => !isGood(end) && copies.has(handler)).length,
  };
}

/** The numbers of the stored routes that the load program created. */
export async function storedNumbers(databaseUrl: string): Promise<Set<number>> {
  const location = parseDatabaseUrl(databaseUrl);
  const knex = openForMigrations(location);
  const handlers = await knex('routes').where('handler', 'like', 'collection%').pluck<string[]>('handler');
  await closeDatabase(knex);
  return new Set(handlers.map((handler) => Number(/\d+/.exec(handler)?.[0])));
}
