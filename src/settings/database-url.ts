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
  /** Whether the URL has no `ssl-mode` and the host is not this machine. */
  readonly exposed: boolean;
}

/** Where the routes are stored: in a MySQL database, or in the file (or `:memory:`) of the embedded database. */
export type Database = MysqlDatabase | { readonly engine: 'sqlite'; readonly file: string };

/** The scheme of a URL; a single letter is a Windows drive instead. */
const SCHEME = /^[a-z][a-z\d+.-]+:/i;
const MYSQL_PORT = 3306;
const WRONG_FORM = 'must be mysql://user:password@host:port/database or sqlite:path; got another form.';

/**
 * Parses `DATABASE_URL`: `mysql://user:password@host:port/database` (percent-encoded), with TLS options in its query,
 * or `sqlite:path`.
 *
 * @throws Error whose message ends a sentence that begins with the setting's name; it contains no values
 */
export function parseDatabaseUrl(text: string): Database {
  const file = /^sqlite:(?<path>.+)$/s.exec(text)?.groups?.['path'];
  if (file === undefined) return parseMysqlUrl(text);
  if (SCHEME.test(file))
    throw new Error(
      'must have the path of a file after "sqlite:"; got another scheme. Take one of them out; if a file is really called so, write ./ before its name.',
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
    // A percent-encoding is malformed.
    throw new Error(WRONG_FORM);
  }
}
