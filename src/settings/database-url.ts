/** The location of the routes: a MySQL database, or a file (or `:memory:`) of the embedded one. */
export type Database =
  | {
      readonly engine: 'mysql';
      readonly host: string;
      readonly port: number;
      readonly user: string;
      readonly password: string;
      readonly database: string;
    }
  | { readonly engine: 'sqlite'; readonly file: string };

const MYSQL_PORT = 3306;

/** Parses `DATABASE_URL`: `mysql://user:password@host:port/database` (percent-encoded) or `sqlite:path`. */
export function parseDatabaseUrl(text: string): Database | undefined {
  return /^sqlite:./.test(text)
    ? { engine: 'sqlite', file: text.slice('sqlite:'.length) }
    : parseMysqlUrl(text);
}

function parseMysqlUrl(text: string): Database | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol !== 'mysql:' || url.hostname === '' || url.search !== '' || url.hash !== '')
    return undefined;
  try {
    const database = decodeURIComponent(url.pathname.slice(1));
    if (database === '' || database.includes('/')) return undefined;
    return {
      engine: 'mysql',
      host: url.hostname.replace(/^\[(.*)\]$/, '$1'),
      port: url.port === '' ? MYSQL_PORT : Number(url.port),
      user: decodeURIComponent(url.username),
      password: decodeURIComponent(url.password),
      database,
    };
  } catch {
    // A percent sign that does not begin an escape.
    return undefined;
  }
}
