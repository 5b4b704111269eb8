import { type MysqlTls, mysqlTlsOf } from './mysql-tls.js';

/** The location of the routes: a MySQL database, or a file (or `:memory:`) of the embedded one. */
export type Database =
  | {
      readonly engine: 'mysql';
      readonly host: string;
      readonly port: number;
      readonly user: string;
      readonly password: string;
      readonly database: string;
      readonly tls: MysqlTls | undefined;
    }
  | { readonly engine: 'sqlite'; readonly file: string };

const MYSQL_PORT = 3306;
const WRONG_FORM = 'must be mysql://user:password@host:port/database or sqlite:path.';

/**
 * Parses `DATABASE_URL`: `mysql://user:password@host:port/database` (percent-encoded), with TLS in its query, or
 * `sqlite:path`.
 *
 * @throws Error with the end of a sentence about the setting, which does not repeat its values
 */
export function parseDatabaseUrl(text: string): Database {
  return /^sqlite:./.test(text)
    ? { engine: 'sqlite', file: text.slice('sqlite:'.length) }
    : parseMysqlUrl(text);
}

function parseMysqlUrl(text: string): Database {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol !== 'mysql:' || url.hostname === '' || url.hash !== '') throw new Error(WRONG_FORM);
  const database = decoded(url.pathname.slice(1));
  if (database === '' || database.includes('/')) throw new Error(WRONG_FORM);
  return {
    engine: 'mysql',
    host: url.hostname.replace(/^\[(.*)\]$/, '$1'),
    port: url.port === '' ? MYSQL_PORT : Number(url.port),
    user: decoded(url.username),
    password: decoded(url.password),
    database,
    tls: mysqlTlsOf(url.searchParams),
  };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // A percent sign that does not begin an escape.
    throw new Error(WRONG_FORM);
  }
}
