import { setTimeout as delay } from 'node:timers/promises';
import { readDatabase } from '../../src/settings/config.js';
import { openDatabase } from '../../src/store/database.js';
import { KnexRouteStore } from '../../src/store/knex-route-store.js';
import { migrateUp } from '../../src/store/migrations.js';
import { type Engine, engines } from './engines.js';
import { createReplicatedDatabase } from './replicated-database.js';

/** How often a replica that follows gets the primary's rows, in milliseconds. */
const REPLICATION_MS = 20;

/** The stores of two instances of the service on one empty database. */
export interface OpenedStores {
  readonly stores: readonly [KnexRouteStore, KnexRouteStore];
  /** Removes the database, too. */
  close(): Promise<void>;
}

/** A way to keep routes on which everything that a store promises holds. */
export interface StoreSetup {
  /** For titles. */
  readonly name: string;
  readonly needs: Engine['needs'];
  open(): Promise<OpenedStores>;
}

function alone(engine: Engine): StoreSetup {
  return {
    name: engine.name,
    needs: engine.needs,
    async open() {
      const database = await engine.createDatabase();
      const location = readDatabase({ DATABASE_URL: database.url });
      const [knex, otherKnex] = [openDatabase(location), openDatabase(location)];
      await migrateUp(knex);
      return {
        stores: [new KnexRouteStore(knex), new KnexRouteStore(otherKnex)],
        async close() {
          await knex.destroy();
          await otherKnex.destroy();
          await database.drop();
        },
      };
    },
  };
}

/** @param follows whether the replica gets the primary's rows, or is empty for ever */
function withReplica(engine: Engine, follows: boolean): StoreSetup {
  return {
    name: `${engine.name} with a replica that ${follows ? 'follows' : 'has nothing'}`,
    needs: engine.needs,
    async open() {
      const database = await createReplicatedDatabase(engine);
      const openStore = (): KnexRouteStore =>
        new KnexRouteStore(database.primary.knex, { replicas: [database.replica.knex] });
      const stores = [openStore(), openStore()] as const;
      const endings = stores.map(({ replicas }) => replicas.follow(REPLICATION_MS));
      const closing = new AbortController();
      const replication = (async () => {
        while (follows && !closing.signal.aborted) {
          await database.replicate();
          await delay(REPLICATION_MS);
        }
      })();
      return {
        stores,
        async close() {
          closing.abort();
          for (const end of endings) end();
          await replication;
          await database.drop();
        },
      };
    },
  };
}

/** Every engine alone, and those of a server with replicas. */
export const storeSetups: readonly StoreSetup[] = [
  ...engines.map(alone),
  ...engines.slice(1).flatMap((engine) => [withReplica(engine, true), withReplica(engine, false)]),
];
