import { randomBytes } from 'node:crypto';
import { createConnection, type Connection, type RowDataPacket } from 'mysql2/promise';

const PREFIX = 'rr_test_';
const LEFTOVER_AGE_MS = 24 * 60 * 60 * 1000;

/** A server for tests. Its user may create and drop databases named `rr_test_…`. */
export interface MysqlServer {
  /** Product and version as the server reports them: `MariaDB 10.11.6`, `MySQL 8.4.3`. */
  readonly name: string;
  /** `mysql://user:password@host:port`, without a database. */
  readonly url: string;
}

/** What `use` returns for a connection, which is then closed. */
async function withConnection<T>(url: string, use: (connection: Connection) => Promise<T>): Promise<T> {
  const connection = await createConnection({ uri: url });
  try {
    return await use(connection);
  } finally {
    await connection.end();
  }
}

function urlOf(server: string, database: string): string {
  const url = new URL(server);
  url.pathname = database;
  return url.href;
}

/**
 * Queries the product and version of a server.
 *
 * @param location the URL of the server; the path is ignored
 * @throws Error of the driver, if the server does not respond
 */
export async function identifyMysqlServer(location: string): Promise<MysqlServer> {
  const url = urlOf(location, '');
  const [rows] = await withConnection(url, (connection) =>
    connection.query<(RowDataPacket & { version: string })[]>('select version() as version'),
  );
  const version = rows[0]?.version ?? '';
  const product = /mariadb/i.test(version) ? 'MariaDB' : 'MySQL';
  return { name: `${product} ${version.replace(/-.*/, '')}`, url };
}

/**
 * Creates an empty database with a random name, and returns its URL. The default character set is latin1, so that a
 * table that does not set its own fails tests with Unicode.
 */
export async function createMysqlDatabase(server: MysqlServer): Promise<string> {
  const name = `${PREFIX}${Date.now()}_${randomBytes(6).toString('hex')}`;
  await withConnection(server.url, (connection) =>
    connection.query(`create database ${name} character set latin1`),
  );
  return urlOf(server.url, name);
}

/** Drops a database that {@link createMysqlDatabase} created. */
export async function dropMysqlDatabase(url: string): Promise<void> {
  const name = new URL(url).pathname.slice(1);
  await withConnection(urlOf(url, ''), (connection) => connection.query(`drop database if exists ${name}`));
}

/** Drops the databases that killed runs left behind: those created more than a day before `now`. */
export async function dropLeftovers(server: MysqlServer, now: number): Promise<void> {
  await withConnection(server.url, async (connection) => {
    const [rows] = await connection.query<(RowDataPacket & { name: string })[]>(
      'select schema_name as name from information_schema.schemata where left(schema_name, ?) = ?',
      [PREFIX.length, PREFIX],
    );
    for (const { name } of rows) {
      const createdAt = Number(/^rr_test_(\d{13})_[0-9a-f]{12}$/.exec(name)?.[1] ?? now);
      if (now - createdAt > LEFTOVER_AGE_MS) await connection.query(`drop database if exists ${name}`);
    }
  });
}
