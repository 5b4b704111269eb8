import type { Logger } from 'pino';
import type { Closing } from './closing.js';
import { openOrExplain } from './open-or-explain.js';
import {
  closeDatabase,
  type DatabaseLocation,
  openDatabase,
  type PoolFigures,
  poolFigures,
  reachDatabase,
} from '../store/database.js';
import { KnexRouteStore } from '../store/knex-route-store.js';
import { ensureSchema } from '../store/migrations.js';
import type { StatementObserver } from '../store/statements.js';

/** The configuration of this process's store. */
interface RouteStoreConfig {
  readonly database: DatabaseLocation;
  /** How long a database server may stay silent, in milliseconds: as long as a call may take. */
  readonly silenceMs: number;
  /** How long the start waits for an unreachable database, in milliseconds. */
  readonly waitMs: number;
}

/** The parts of the process that the store uses. */
interface StoreDependencies {
  readonly closing: Closing;
  readonly logger: Logger;
  /** Aborts the wait for the database. */
  readonly stop?: AbortSignal | undefined;
  /** Default: none. */
  readonly observers?: readonly StatementObserver[];
}

/** The store, with its figures for operators. */
interface OpenedRouteStore {
  readonly store: KnexRouteStore;
  /** The number of its migrations. */
  readonly schemaVersion: number;
  /** The current use of its connections. */
  readonly pool: () => PoolFigures;
}

/**
 * Connects to the configured database, ensures its schema and opens the store.
 *
 * @throws Error when the database cannot be reached, or its schema is out of date
 */
export async function openRouteStore(
  { database, silenceMs, waitMs }: RouteStoreConfig,
  { closing, logger, stop, observers = [] }: StoreDependencies,
): Promise<OpenedRouteStore> {
  const knex = openDatabase(database, silenceMs);
  closing.resource('database', () => closeDatabase(knex, database));
  await openOrExplain('The database named by DATABASE_URL cannot be reached', () =>
    reachDatabase(knex, { waitMs, stop, log: logger.info.bind(logger) }),
  );
  const schemaVersion = await ensureSchema(knex, database);
  return { store: new KnexRouteStore(knex, observers), schemaVersion, pool: () => poolFigures(knex) };
}
