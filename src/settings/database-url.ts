import { readFileSync } from 'node:fs';
import { isLoopback } from './addresses.js';

/** A database of a MySQL or MariaDB server. */
export interface MysqlDatabase {
  readonly engine: 'mysql';
  readonly host: string;
  readonly port: number;
  /** The path of a unix socket, which then takes the place of host and port. */
  readonly socket: string | undefined;
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
const WRONG_FORM =
  'must be mysql://user:password@host:port/database, in user and password with %23 for #, %2F for /, %3F for ? and %25 for %, or sqlite:path; got another form.';

/**
 * Parses `DATABASE_URL`: `mysql://user:password@host:port/database` (percent-encoded), with TLS options or a unix socket
 * in its query, or `sqlite:path`.
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
  const database = decodeComponent(url.pathname.slice(1));
  if (database === '' || database.includes('/')) throw new Error(WRONG_FORM);
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
  checkParameters(url.searchParams);
  const socket = url.searchParams.get('socket') ?? undefined;
  if (socket !== undefined && (!socket.startsWith('/') || !isLoopback(host)))
    throw new Error(
      'must have the absolute path of a file as socket, and localhost as host; got another one.',
    );
  return {
    engine: 'mysql',
    host,
    port: url.port === '' ? MYSQL_PORT : Number(url.port),
    socket,
    user: decodeComponent(url.username),
    password: decodeComponent(url.password),
    database,
    tls: mysqlTlsOf(url.searchParams),
    exposed: !url.searchParams.has('ssl-mode') && !isLoopback(host),
  };
}

function decodeComponent(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // A percent-encoding is malformed.
    throw new Error(WRONG_FORM);
  }
}

/** The TLS options for MySQL; the texts are in PEM. */
export interface MysqlTls {
  /** The certificate authorities trusted to sign the server's certificate; undefined for those that Node trusts. */
  readonly ca: string | undefined;
  /** Whether the certificate must also be valid for the host of the URL. */
  readonly checksHost: boolean;
  /** The client's own certificate and key, both or neither. */
  readonly cert: string | undefined;
  readonly key: string | undefined;
}

const FILES = ['ssl-ca', 'ssl-cert', 'ssl-key'];
const PARAMETERS = ['ssl-mode', ...FILES, 'socket'];
/** The most characters of a parameter's name that a message repeats. */
const PARAMETER_NAME_MAX = 32;

/** @throws Error as `parseDatabaseUrl` does, for a parameter that is unknown, empty or there twice */
function checkParameters(parameters: URLSearchParams): void {
  for (const name of parameters.keys()) {
    // Behind a raw question mark in a password, it is a part of that.
    if (name.includes('@')) throw new Error(WRONG_FORM);
    if (!PARAMETERS.includes(name))
      throw new Error(
        `must have no parameters but ${PARAMETERS.join(', ')}; got ${JSON.stringify(name.slice(0, PARAMETER_NAME_MAX))}.`,
      );
    const count = parameters.getAll(name).length;
    if (count > 1) throw new Error(`must have the parameter ${name} once; got ${count}.`);
    if (parameters.get(name) === '') throw new Error(`must have a value for ${name}; got none.`);
  }
}

/**
 * Reads the TLS options from the parameters of a MySQL URL, under the names that MySQL's own programs use; undefined
 * without TLS. What would check no certificate, or trust any server that has one, is not supported, since it does not
 * prevent man-in-the-middle attacks: `PREFERRED`, `REQUIRED`, and `VERIFY_CA` with the authorities that Node trusts.
 *
 * @throws Error whose message ends a sentence that begins with the setting's name; its only value is a valid `ssl-mode`
 */
function mysqlTlsOf(parameters: URLSearchParams): MysqlTls | undefined {
  const mode = parameters.get('ssl-mode') ?? 'DISABLED';
  if (mode === 'DISABLED') {
    if (FILES.some((name) => parameters.has(name)))
      throw new Error(
        `must have ssl-mode=VERIFY_IDENTITY or VERIFY_CA where it names files for TLS; got ${parameters.get('ssl-mode') ?? 'none'}.`,
      );
    return undefined;
  }
  if (mode !== 'VERIFY_IDENTITY' && mode !== 'VERIFY_CA')
    throw new Error('must have VERIFY_IDENTITY, VERIFY_CA or DISABLED as ssl-mode; got another one.');
  if (parameters.has('socket'))
    throw new Error(`must have no ssl-mode but DISABLED where it has a socket; got ${mode}.`);
  if (parameters.has('ssl-cert') !== parameters.has('ssl-key'))
    throw new Error('must have both ssl-cert and ssl-key, or neither; got one.');
  const [ca, cert, key] = FILES.map((name) => contentOf(name, parameters.get(name)));
  if (ca === undefined && mode === 'VERIFY_CA')
    throw new Error(
      'must have ssl-ca where it has ssl-mode=VERIFY_CA, since any server has a certificate of some public authority; got none.',
    );
  return { ca, checksHost: mode === 'VERIFY_IDENTITY', cert, key };
}

function contentOf(name: string, file: string | null): string | undefined {
  try {
    return file === null ? undefined : readFileSync(file, 'utf8');
  } catch {
    throw new Error(`must name a readable file in ${name}; got one that cannot be read.`);
  }
}
