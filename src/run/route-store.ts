import type { Logger } from 'pino';
import type { Closing } from './closing.js';
import { openOrExplain } from './open-or-explain.js';
import type { MysqlDatabase } from '../settings/database-url.js';
import { closeDatabase, type DatabaseLocation, embeddedFileOf, openDatabase } from '../store/database.js';
import { GaleraDetection } from '../store/galera.js';
import { KnexRouteStore } from '../store/knex-route-store.js';
import { type PoolFigures, poolFigures } from '../store/pool-figures.js';
import { reachDatabase } from '../store/reach-database.js';
import type { ReplicaChange } from '../store/replica.js';
import { ensureSchema } from '../store/schema.js';
import type { StatementObserver } from '../store/statement-observer.js';

/** The configuration of this process's store. */
interface RouteStoreConfig {
  readonly database: DatabaseLocation;
  readonly replicas: readonly MysqlDatabase[];
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
  /** The pause after each check of the replicas, in milliseconds. Default: 2,000. */
  readonly checkMs?: number | undefined;
  /** The time limit of a check, in milliseconds. Default: 2,000. */
  readonly checkLimitMs?: number | undefined;
}

/** The store, with its figures for operators. */
interface OpenedRouteStore {
  readonly store: KnexRouteStore;
  /** The number of its migrations. */
  readonly schemaVersion: number;
  /** The connection pools by server name: `primary`, `replica-1` and so on. */
  readonly pools: Readonly<Record<string, () => PoolFigures>>;
}

/**
 * Opens the store on the configured database, which must answer, and its replicas, which need not.
 *
 * @throws Error when the database cannot be reached, or its schema is out of date
 */
export async function openRouteStore(
  { database, replicas, silenceMs, waitMs }: RouteStoreConfig,
  { closing, logger, stop, observers = [], checkMs, checkLimitMs }: StoreDependencies,
): Promise<OpenedRouteStore> {
  const file = embeddedFileOf(database);
  const galera = new GaleraDetection();
  const knex = openDatabase(database, silenceMs, file, galera);
  closing.resource('database', () => closeDatabase(knex, database));
  await openOrExplain('The database named by DATABASE_URL cannot be reached', () =>
    reachDatabase(knex, { waitMs, stop, log: logger.info.bind(logger) }),
  );
  const schemaVersion = await ensureSchema(knex, database);

  const pools = replicas.map((location) => openDatabase(location, silenceMs));
  const store = new KnexRouteStore(knex, {
    file,
    galera,
    observers,
    replicas: pools,
    checkLimitMs,
    onReplicaChange: ({ replica, serving, cause }: ReplicaChange) => {
      if (serving) logger.info({ replica }, 'the replica serves gets');
      else logger.warn({ replica, err: cause }, 'the replica is left out until it can serve gets again');
    },
  });
  if (pools.length > 0) {
    const stopFollowing = store.replicas.follow(checkMs);
    closing.resource('replicas', async () => {
      stopFollowing();
      await Promise.all(pools.map((pool) => pool.destroy()));
    });
  }
  const named = pools.map((pool, i) => [`replica-${i + 1}`, () => poolFigures(pool)] as const);
  return {
    store,
    schemaVersion,
    pools: { primary: () => poolFigures(knex), ...Object.fromEntries(named) },
  };
}
