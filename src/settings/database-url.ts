import { isLoopback } from './addresses.js';
import { type MysqlTls, mysqlTlsOf } from './mysql-tls.js';

/** A database of a MySQL or MariaDB server. */
interface MysqlDatabase {
  readonly engine: 'mysql';
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly password: string;
  readonly database: string;
  readonly tls: MysqlTls | undefined;
  /** Whether nobody has decided about TLS, though the host is not this machine. */
  readonly exposed: boolean;
}

/** The location of the routes: a MySQL database, or a file (or `:memory:`) of the embedded one. */
export type Database = MysqlDatabase | { readonly engine: 'sqlite'; readonly file: string };

/** The beginning of a URL; a single letter is a drive of Windows. */
const SCHEME = /^[a-z][a-z\d+.-]+:/i;
const MYSQL_PORT = 3306;
const WRONG_FORM = 'must be mysql://user:password@host:port/database or sqlite:path.';

/**
 * Parses `DATABASE_URL`: `mysql://user:password@host:port/database` (percent-encoded), with TLS in its query, or
 * `sqlite:path`.
 *
 * @throws Error with the end of a sentence about the setting, without its values
 */
export function parseDatabaseUrl(text: string): Database {
  const file = /^sqlite:(?<path>.+)$/s.exec(text)?.groups?.['path'];
  if (file === undefined) return parseMysqlUrl(text);
  if (SCHEME.test(file))
    throw new Error(
      'names another scheme after sqlite:, which takes the path of a file. Take one of them out; if a file is really called so, write ./ before its name.',
    );
  return { engine: 'sqlite', file };
}

function parseMysqlUrl(text: string): MysqlDatabase {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol !== 'mysql:' || url.hostname === '' || url.hash !== '') throw new Error(WRONG_FORM);
  const database = decoded(url.pathname.slice(1));
  if (database === '' || database.includes('/')) throw new Error(WRONG_FORM);
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
  return {
    engine: 'mysql',
    host,
    port: url.port === '' ? MYSQL_PORT : Number(url.port),
    user: decoded(url.username),
    password: decoded(url.password),
    database,
    tls: mysqlTlsOf(url.searchParams),
    exposed: !url.searchParams.has('ssl-mode') && !isLoopback(host),
  };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // A percent sign does not begin an escape.
    throw new Error(WRONG_FORM);
  }
}
