import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { inject } from 'vitest';
import type { Engine } from './engine.js';
import { createMysqlDatabase, dropMysqlDatabase, type MysqlServer } from './mysql-databases.js';
import { supplies } from './needs.js';

export type { Database, Engine } from './engine.js';

const sqlite: Engine = {
  name: 'SQLite',
  needs: [],
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
    needs: ['server'],
    async createDatabase() {
      const url = await createMysqlDatabase(server);
      return { url, drop: () => dropMysqlDatabase(url) };
    },
  };
}

/** A placeholder in runs without a server, so that the tests that need one count as skipped. */
const absent: Engine = {
  name: 'a MySQL-protocol server',
  needs: ['server'],
  createDatabase: () => Promise.reject(new Error('There is no server: use describeOn or itOn.')),
};

const servers = supplies.mysqlServers.map(mysql);

/** Every engine of this run: the embedded one and each MySQL-protocol server that the global setup found. */
export const engines: readonly [Engine, ...Engine[]] = [
  sqlite,
  ...(servers.length === 0 && inject('needs').includes('server') ? [absent] : servers),
];
