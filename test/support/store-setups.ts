import { setTimeout as delay } from 'node:timers/promises';
import { type Engine, engines } from './engines.js';
import { type KnexRouteStore, openStore } from './open-store.js';
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
interface StoreSetup {
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
      const { store, storeWith, connect, close } = await openStore(engine);
      return { stores: [store, storeWith({}, connect())], close };
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
      const reading = (): KnexRouteStore => database.primary.storeWith({ replicas: [database.replica.knex] });
      const stores = [reading(), reading()] as const;
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
