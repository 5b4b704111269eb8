import { join } from 'node:path';
import { parseDatabaseUrl } from '../../src/settings/database-url.js';
import { closeDatabase, openDatabase } from '../../src/store/database.js';
import { migrateUp } from '../../src/store/migrations.js';
import { ROUTE_COLUMNS, type RouteRow, toRoute } from '../../src/store/route-row.js';
import {
  createMysqlDatabase,
  dropMysqlDatabase,
  identifyMysqlServer,
} from '../../test/support/mysql-databases.js';
import type { ShownRoute } from '../ledger.js';

/** The database of one run. */
export interface FuzzDatabase {
  readonly url: string;
  /** Every stored route. */
  routes(): Promise<ShownRoute[]>;
  drop(): Promise<void>;
}

/** Creates an empty, migrated database: on the server of `FUZZ_MYSQL_URL`; default: embedded, in the folder. */
export async function createDatabase(folder: string): Promise<FuzzDatabase> {
  const server = process.env['FUZZ_MYSQL_URL'];
  const url =
    server === undefined
      ? `sqlite:${join(folder, 'routes.db')}`
      : await createMysqlDatabase(await identifyMysqlServer(server));
  const location = parseDatabaseUrl(url);
  const knex = openDatabase(location);
  await migrateUp(knex);
  await closeDatabase(knex, location);
  return {
    url,
    routes: () => readRoutes(url),
    drop: () => (server === undefined ? Promise.resolve() : dropMysqlDatabase(url)),
  };
}

async function readRoutes(url: string): Promise<ShownRoute[]> {
  const location = parseDatabaseUrl(url);
  const knex = openDatabase(location);
  try {
    const rows = await knex<RouteRow>('routes').select<RouteRow[]>(ROUTE_COLUMNS);
    return rows.map((row) => {
      const route = toRoute(row);
      return { ...route, createdAt: route.createdAt.toISOString() };
    });
  } finally {
    await closeDatabase(knex, location);
  }
}
