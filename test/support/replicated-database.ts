import type { Engine } from './engines.js';
import { type OpenedStore, openStore } from './open-store.js';

/** A migrated database with a migrated replica on the same server, which gets nothing but what a test replicates. */
export interface ReplicatedDatabase {
  readonly primary: OpenedStore;
  readonly replica: OpenedStore;
  /** Gives the replica all rows that the primary has by now. */
  replicate(): Promise<void>;
  /** Closes the connections of both and removes them. */
  drop(): Promise<void>;
}

/** Creates both. @param engine one of a MySQL-protocol server */
export async function createReplicatedDatabase(engine: Engine): Promise<ReplicatedDatabase> {
  const [primary, replica] = [await openStore(engine), await openStore(engine)];
  const [from, to] = [primary, replica].map(({ url }) => new URL(url).pathname.slice(1));
  const rows = `insert ignore into \`${to ?? ''}\`.routes select * from \`${from ?? ''}\`.routes`;
  return {
    primary,
    replica,
    async replicate() {
      // Under the default isolation it would lock the rows that it reads.
      await replica.knex.transaction((transaction) => transaction.raw(rows), {
        isolationLevel: 'read committed',
      });
    },
    async drop() {
      await primary.close();
      await replica.close();
    },
  };
}
