import type { Knex } from 'knex';
import { readDatabase } from '../../src/settings/config.js';
import { openDatabase } from '../../src/store/database.js';
import { migrateUp } from '../../src/store/migrations.js';
import type { Engine } from './engines.js';

/** A migrated database with a migrated replica on the same server, which gets nothing but what a test replicates. */
export interface ReplicatedDatabase {
  readonly primary: { readonly url: string; readonly knex: Knex };
  readonly replica: { readonly url: string; readonly knex: Knex };
  /** Gives the replica all rows that the primary has by now. */
  replicate(): Promise<void>;
  /** Closes the connections of both and removes them. */
  drop(): Promise<void>;
}

/** Creates both. @param engine one of a MySQL-protocol server */
export async function createReplicatedDatabase(engine: Engine): Promise<ReplicatedDatabase> {
  const databases = [await engine.createDatabase(), await engine.createDatabase()] as const;
  const [primary, replica] = databases.map(({ url }) => ({
    url,
    knex: openDatabase(readDatabase({ DATABASE_URL: url })),
  })) as [ReplicatedDatabase['primary'], ReplicatedDatabase['replica']];
  await migrateUp(primary.knex);
  await migrateUp(replica.knex);
  const [from, to] = databases.map(({ url }) => new URL(url).pathname.slice(1));
  const rows = `insert ignore into \`${to}\`.routes select * from \`${from}\`.routes`;
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
      await primary.knex.destroy();
      await replica.knex.destroy();
      for (const database of databases) await database.drop();
    },
  };
}
