import type { Knex } from 'knex';
import { createConnection, type RowDataPacket } from 'mysql2/promise';
import { parseDatabaseUrl } from '../src/settings/database-url.js';
import { openForMigrations } from '../src/store/database.js';
import { mysqlEngine } from '../src/store/engines/mysql.js';
import { migrateUp } from '../src/store/migrations.js';
import { insertOf, tupleOf } from '../src/store/route-sql.js';
import {
  createMysqlDatabase,
  dropLeftovers,
  dropMysqlDatabase,
  identifyMysqlServer,
} from '../test/support/mysql-databases.js';
import { startMysqlServer } from '../test/support/mysql-server.js';
import { listenerOf } from './process-usage.js';
import { storedRoute } from './stored-routes.js';

const ROWS_PER_INSERT = 1_000;
const MYSQL_PORT = 3306;

/** The database server that the benchmark runs on. */
export interface DatabaseServer {
  /** Product, version, and the settings of commits and cache, for the report. */
  readonly description: string;
  /** Absent when the server runs on another machine, or as a user whose processes are not visible here. */
  readonly pid: number | undefined;
  /** Creates a database with this many routes and returns its URL. */
  createDatabase(routes: number): Promise<string>;
  /** Drops the created databases, and stops the server if the benchmark started it. */
  close(): Promise<void>;
}

/**
 * Opens the server at `BENCH_MYSQL_URL`, else the first one of `TEST_MYSQL_URL`; with neither, starts a private one.
 *
 * @throws Error when the server does not flush its log at each commit, which would flatter the figures
 */
export async function openDatabaseServer(): Promise<DatabaseServer> {
  const configured = process.env['BENCH_MYSQL_URL'] ?? process.env['TEST_MYSQL_URL']?.split(',')[0];
  const own = configured === undefined ? await startMysqlServer() : undefined;
  const location = configured ?? own?.url ?? '';
  const databases: string[] = [];
  const close = async (): Promise<void> => {
    for (const url of databases) await dropMysqlDatabase(url);
    await own?.stop();
  };
  try {
    const server = await identifyMysqlServer(location);
    await dropLeftovers(server, Date.now());
    const { hostname, port } = new URL(location);
    const local = ['127.0.0.1', 'localhost', '[::1]'].includes(hostname);
    return {
      description: `${server.name}, ${await durability(location)}`,
      pid: local ? listenerOf(port === '' ? MYSQL_PORT : Number(port)) : undefined,
      async createDatabase(routes) {
        const url = await createMysqlDatabase(server);
        databases.push(url);
        await fill(url, routes);
        return url;
      },
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

async function durability(url: string): Promise<string> {
  const connection = await createConnection({ uri: url });
  const names = ['innodb_flush_log_at_trx_commit', 'log_bin', 'sync_binlog', 'innodb_buffer_pool_size'];
  const [rows] = await connection.query<RowDataPacket[]>(
    `select ${names.map((name) => `@@${name} as ${name}`).join(', ')}`,
  );
  await connection.end();
  const values: Readonly<Record<string, unknown>> = rows[0] ?? {};
  if (Number(values['innodb_flush_log_at_trx_commit']) !== 1) {
    throw new Error('The database does not flush its log at commit (innodb_flush_log_at_trx_commit=1).');
  }
  return names.map((name) => `${name}=${String(values[name])}`).join(', ');
}

async function fill(url: string, routes: number): Promise<void> {
  const knex = openForMigrations(parseDatabaseUrl(url));
  try {
    await migrateUp(knex);
    let from = 0;
    const insertNext = async (): Promise<void> => {
      while (from < routes) {
        const begin = from;
        from += ROWS_PER_INSERT;
        await insert(knex, begin, Math.min(routes, from));
      }
    };
    // Two at once: the next insert is prepared while the database executes one.
    await Promise.all([insertNext(), insertNext()]);
    await knex.raw('analyze table routes');
  } finally {
    await knex.destroy();
  }
}

async function insert(knex: Knex, from: number, to: number): Promise<void> {
  const tuples = Array.from({ length: to - from }, (_, i) => tupleOf(storedRoute(from + i), mysqlEngine));
  await knex.raw(insertOf(tuples, mysqlEngine));
}
