import type { Knex } from 'knex';
import { type Database, parseDatabaseUrl } from '../../src/settings/database-url.js';
import { openForCalls, openForMigrations } from '../../src/store/database.js';
import { KnexRouteStore, type KnexRouteStoreOptions } from '../../src/store/knex-route-store.js';
import { migrateUp } from '../../src/store/migrations.js';
import type { ObservedStatement } from '../../src/store/statement-observers.js';
import type { Engine } from './engine.js';
import { throughPort } from './tcp-proxy.js';

export type { KnexRouteStore, ObservedStatement };

/** As the service opens its database by default. */
export const CALL_TIMES = { deadlineMs: 5_000, silenceMs: 5_000 };

/** A database that a single test uses, with connections to it. */
export interface OpenedDatabase {
  readonly url: string;
  /** The parsed URL. */
  readonly location: Database;
  readonly knex: Knex;
  /** The port of its server; 0 for an embedded database. */
  readonly port: number;
  /** Opens more connections of the same kind. @param port the port to connect to; default: that of the server */
  readonly connect: (port?: number) => Knex;
  /** Closes all connections and drops the database. */
  readonly close: () => Promise<void>;
}

/** A migrated database with a store on it. */
export interface OpenedStore extends OpenedDatabase {
  /** Allows duplicates. */
  readonly store: KnexRouteStore;
  /** Refuses duplicates. */
  readonly strict: KnexRouteStore;
  /** Creates another store, by default one that allows duplicates. @param knex its connections; default: those of `knex` */
  readonly storeWith: (options: Partial<KnexRouteStoreOptions>, knex?: Knex) => KnexRouteStore;
}

/**
 * Opens a new, empty database.
 *
 * @param open opens a connection pool; default: one for migrations
 */
export async function openEmpty(engine: Engine, open = openForMigrations): Promise<OpenedDatabase> {
  const database = await engine.createDatabase();
  const { url } = database;
  const opened: Knex[] = [];
  const connect = (port?: number): Knex => {
    const there = port === undefined ? url : throughPort(url, port);
    const knex = open(parseDatabaseUrl(there));
    opened.push(knex);
    return knex;
  };
  return {
    url,
    location: parseDatabaseUrl(url),
    knex: connect(),
    port: Number(new URL(url).port),
    connect,
    async close() {
      for (const knex of opened) await knex.destroy();
      await database.drop();
    },
  };
}

/** Opens a store on a new database. */
export async function openStore(engine: Engine): Promise<OpenedStore> {
  const database = await openEmpty(engine, (location) => openForCalls(location, CALL_TIMES));
  const { knex, location } = database;
  const migrating = openForMigrations(location);
  await migrateUp(migrating);
  await migrating.destroy();
  const storeWith: OpenedStore['storeWith'] = (options, through = knex) =>
    new KnexRouteStore(through, { duplicates: 'allow', ...options });
  return { ...database, store: storeWith({}), strict: storeWith({ duplicates: 'reject' }), storeWith };
}
