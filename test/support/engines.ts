import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { inject } from 'vitest';
import { createMysqlDatabase, dropMysqlDatabase, type MysqlServer } from './mysql-databases.js';

/** A logical database that belongs to one test alone. */
export interface Database {
  /** In the form of the setting `DATABASE_URL`: `sqlite:/…/routes.db` or `mysql://user:password@host:port/name`. */
  readonly url: string;
  /** Removes the database and its content. Its connections must be closed by then. */
  drop(): Promise<void>;
}

/** A database product that the service runs on. */
export interface Engine {
  /** For titles: `SQLite`, or the server's own name and version, such as `MariaDB 10.11.6`. */
  readonly name: string;
  /** Creates an empty database, isolated from every other test and run. */
  createDatabase(): Promise<Database>;
}

const sqlite: Engine = {
  name: 'SQLite',
  async createDatabase() {
    const folder = await mkdtemp(join(inject('temporaryFolder'), 'sqlite-'));
    return {
      url: `sqlite:${join(folder, 'routes.db')}`,
      drop: () => rm(folder, { recursive: true, force: true }),
    };
  },
};

function mysql(server: MysqlServer): Engine {
  return {
    name: server.name,
    async createDatabase() {
      const url = await createMysqlDatabase(server);
      return { url, drop: () => dropMysqlDatabase(url) };
    },
  };
}

/** Every engine of this run: the embedded one and each MySQL-protocol server that the global setup found. */
export const engines: readonly [Engine, ...Engine[]] = [sqlite, ...inject('mysqlServers').map(mysql)];
