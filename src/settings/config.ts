import {
  ADDRESS_FORM,
  checkTarget,
  grpcAddressOf,
  type HostAndPort,
  opsAddressOf,
  splitAddress,
} from './addresses.js';
import { type Database, databaseOf, isDatabaseGiven } from './database-url.js';
import { refuseMisspelled, type SettingName, SettingsReader } from './reader.js';
import { isLocalMode, type Scopes, scopesOf, type TokenConfig, tokensOf } from './tokens.js';
import { tracesOf } from './traces.js';

const BYTES_PER_MIB = 1_048_576;
/** The largest cache of routes, in MiB: an amount that a Node process easily holds. */
const ROUTE_CACHE_MAX_MIB = 1_024;
/** The longest waits that may be set for startup and shutdown, in milliseconds. */
const DATABASE_WAIT_MAX_MS = 3_600_000;
const DRAIN_DELAY_MAX_MS = 600_000;
/** The longest time that any setting accepts, in milliseconds: a day. */
const LONGEST_MS = 86_400_000;
/** The longest time that may be set for one call, in milliseconds. */
const DEADLINE_MAX_MS = 600_000;
/** The most connections, streams or calls that any setting accepts. */
const MOST = 1_000_000;
const MESSAGE_MAX_BYTES = 16_777_216;

/** The gRPC server. */
export interface GrpcConfig {
  /** `host:port` or `unix:/path` */
  readonly address: string;
  readonly database: Database;
  readonly tokens: TokenConfig;
  readonly duplicateRoutes: 'allow' | 'reject';
  readonly reflection: boolean;
}

/** The REST gateway. */
export interface HttpConfig {
  readonly host: string;
  readonly port: number;
  /** Empty, or segments that each begin with a slash. */
  readonly basePath: string;
  /** The gRPC server to call, a target of grpc-js (`host:port`, `dns:///…`); absent for the one in this process. */
  readonly upstream: string | undefined;
  /** The TLS files for that server; absent without TLS. */
  readonly upstreamTls: TlsFiles | undefined;
  /** The origins whose scripts may call the gateway, as browsers send them. */
  readonly corsOrigins: readonly string[];
  /** Whether to serve the OpenAPI document and its interactive page. */
  readonly docs: boolean;
}

/** The configuration of the process. A server that does not run is absent. */
export interface Config {
  readonly grpc: GrpcConfig | undefined;
  readonly http: HttpConfig | undefined;
  /** The address of the operators' listener; undefined if there is none, in which case nothing is measured. */
  readonly ops: HostAndPort | undefined;
  /** The TLS files of the gRPC and HTTP servers; absent without TLS. */
  readonly tls: TlsFiles | undefined;
  readonly limits: Limits;
  /** How long startup waits for an unreachable database, in milliseconds. */
  readonly databaseWaitMs: number;
  /** How long the service keeps serving after it has announced its stop, in milliseconds. */
  readonly drainDelayMs: number;
  /** The size of the gRPC server's cache of routes, in bytes. */
  readonly routeCacheBytes: number;
  /** The size of the gateway's cache of rendered replies, in bytes: a sixth of the other. */
  readonly replyCacheBytes: number;
  readonly logLevel: string;
  readonly logFormat: 'auto' | 'json' | 'pretty';
  /** Which requests are logged: all, or only failed ones. */
  readonly accessLog: 'all' | 'failures';
  /** Whether spans are sent; the OpenTelemetry SDK itself reads the destination and further options. */
  readonly traces: boolean;
}

/** The settings that hold the public addresses of each role. */
const ADDRESSES = {
  all: ['GRPC_ADDRESS', 'HTTP_ADDRESS'],
  grpc: ['GRPC_ADDRESS'],
  gateway: ['HTTP_ADDRESS'],
} as const;

/** Invalid settings. The message lists every problem, one per line, and contains no secret. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

/** Reads the whole configuration. @throws ConfigError with every problem */
export function readConfig(env: NodeJS.ProcessEnv): Config {
  return read(env, (settings) => {
    const role = settings.oneOf('ROLE', ['all', 'grpc', 'gateway']);
    const grpc = role === 'gateway' ? undefined : readGrpc(settings);
    return {
      grpc,
      http: role === 'grpc' ? undefined : readHttp(settings, role === 'gateway'),
      ops: opsAddressOf(settings, ADDRESSES[role]),
      tls: serverTlsOf(settings, role !== 'gateway'),
      limits: readLimits(settings),
      databaseWaitMs: databaseWaitOf(settings),
      drainDelayMs: settings.integer('DRAIN_DELAY_MS', 0, DRAIN_DELAY_MAX_MS),
      ...cacheSizesOf(settings),
      logLevel: settings.oneOf('LOG_LEVEL', ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']),
      logFormat: settings.oneOf('LOG_FORMAT', ['auto', 'json', 'pretty']),
      accessLog: settings.oneOf('ACCESS_LOG', ['all', 'failures']),
      traces: tracesOf(settings),
    };
  });
}

function cacheSizesOf(settings: SettingsReader): Pick<Config, 'routeCacheBytes' | 'replyCacheBytes'> {
  const routeCacheBytes = settings.integer('ROUTE_CACHE_MIB', 0, ROUTE_CACHE_MAX_MIB) * BYTES_PER_MIB;
  // For the routes that are read often: rendering a reply again costs far less than a query.
  return { routeCacheBytes, replyCacheBytes: Math.floor(routeCacheBytes / 6) };
}

/** Reads only the settings for a migration. @throws ConfigError with every problem */
export function readMigration(env: NodeJS.ProcessEnv): {
  readonly database: Database;
  readonly databaseWaitMs: number;
} {
  return read(env, (settings) => ({
    database: databaseOf(settings),
    databaseWaitMs: databaseWaitOf(settings),
  }));
}

/** Reads only the settings for tokens. @throws ConfigError with every problem */
export function readTokens(env: NodeJS.ProcessEnv): TokenConfig {
  return read(env, (settings) => tokensOf(settings, databaseOf(settings)));
}

/** Reads only the scopes that permit calls. @throws ConfigError with every problem */
export function readScopes(env: NodeJS.ProcessEnv): Scopes {
  return read(env, scopesOf);
}

function read<T extends object>(env: NodeJS.ProcessEnv, build: (settings: SettingsReader) => T): T {
  const settings = new SettingsReader(env);
  const built = build(settings);
  refuseMisspelled(env, settings);
  if (settings.problems.length === 0) return Object.freeze(built);
  throw new ConfigError(['The settings cannot be used:', ...settings.problems].join('\n- '));
}

function databaseWaitOf(settings: SettingsReader): number {
  return settings.integer('DATABASE_WAIT_MS', 0, DATABASE_WAIT_MAX_MS);
}

function readGrpc(settings: SettingsReader): GrpcConfig {
  const database = databaseOf(settings);
  // Otherwise a misspelled name would send creates to a file that nobody keeps.
  if (!isLocalMode(settings, database) && !isDatabaseGiven(settings))
    settings.refuse('DATABASE_URL', 'must be set when a setting of tokens (JWT_…) is set; got none.');
  return {
    address: grpcAddressOf(settings),
    database,
    tokens: tokensOf(settings, database),
    duplicateRoutes: settings.oneOf('DUPLICATE_ROUTES', ['allow', 'reject']),
    reflection: settings.oneOf('REFLECTION', ['on', 'off']) === 'on',
  };
}

function readHttp(settings: SettingsReader, alone: boolean): HttpConfig {
  const upstream = settings.given('GRPC_UPSTREAM');
  if (upstream !== undefined) checkTarget(settings, upstream);
  else if (alone)
    settings.refuse('GRPC_UPSTREAM', 'must be the gRPC server that ROLE=gateway calls; got none.');
  const text = settings.text('HTTP_ADDRESS');
  const address = splitAddress(text);
  if (address === undefined) settings.refuseValue('HTTP_ADDRESS', text, `must be ${ADDRESS_FORM}`);
  const basePath = settings.given('BASE_PATH') ?? '';
  if (!/^(\/[A-Za-z0-9._~-]+)*$/.test(basePath)) {
    settings.refuseValue(
      'BASE_PATH',
      basePath,
      'must be empty or segments that each begin with a slash, such as /api/routes',
    );
  }
  return {
    host: address?.host ?? '',
    port: address?.port ?? 0,
    basePath,
    upstream,
    upstreamTls: upstreamTlsOf(settings),
    corsOrigins: crossOriginsOf(settings),
    docs: settings.oneOf('DOCS', ['on', 'off']) === 'on',
  };
}

/** The limits on all incoming traffic. None of them can be turned off, except the age of connections. */
export interface Limits {
  /** The time limit of one call, including the time to receive its body and to wait, in milliseconds. */
  readonly deadlineMs: number;
  /** The largest request message or body, in bytes, once it is decompressed. */
  readonly maxMessageBytes: number;
  /** Open connections of each server. */
  readonly maxConnections: number;
  /** Open streams of one gRPC connection. */
  readonly maxStreams: number;
  /** Unary calls in progress, of both protocols together; and REST requests in progress. */
  readonly maxCalls: number;
  /** Calls waiting for the database; one caller may have at most half of them. */
  readonly maxWaitingCalls: number;
  /** How long a gRPC connection without calls may stay silent, in milliseconds; pings keep it open. */
  readonly grpcIdleMs: number;
  /** The greatest age of a gRPC connection, in milliseconds; 0 for no limit. */
  readonly grpcMaxAgeMs: number;
  /** How long an HTTP connection may wait for its next request, in milliseconds. */
  readonly httpIdleMs: number;
}

/** Reads all limits; adds any problems to the reader. */
function readLimits(settings: SettingsReader): Limits {
  return {
    deadlineMs: settings.integer('DEADLINE_MS', 1, DEADLINE_MAX_MS),
    maxMessageBytes: settings.integer('MAX_MESSAGE_BYTES', 1, MESSAGE_MAX_BYTES),
    maxConnections: settings.integer('MAX_CONNECTIONS', 1, MOST),
    maxStreams: settings.integer('MAX_STREAMS', 1, MOST),
    maxCalls: settings.integer('MAX_CALLS', 1, MOST),
    maxWaitingCalls: settings.integer('MAX_WAITING_CALLS', 2, MOST),
    grpcIdleMs: settings.integer('GRPC_IDLE_MS', 1_000, LONGEST_MS),
    grpcMaxAgeMs: settings.integer('GRPC_MAX_AGE_MS', 0, LONGEST_MS),
    httpIdleMs: settings.integer('HTTP_IDLE_MS', 1_000, LONGEST_MS),
  };
}

/** The TLS files of one party, each in PEM. */
export interface TlsFiles {
  /** The party's certificate with its chain, and the private key: both or neither. */
  readonly certFile: string | undefined;
  readonly keyFile: string | undefined;
  /** The certificate authorities trusted to sign the other party's certificate. */
  readonly caFile: string | undefined;
}

/** Reads the TLS files of both servers, `undefined` without TLS; adds any problems to the reader. */
function serverTlsOf(settings: SettingsReader, hasGrpc: boolean): TlsFiles | undefined {
  const pair = pairOf(settings, 'TLS_CERT_FILE', 'TLS_KEY_FILE');
  const caFile = settings.given('TLS_CLIENT_CA_FILE');
  const refuse = (problem: string): void => {
    if (caFile !== undefined) settings.refuse('TLS_CLIENT_CA_FILE', problem);
  };
  if (!hasGrpc) refuse('must not be set with ROLE=gateway, which runs no gRPC server; got a file.');
  if (pair.certFile !== undefined) return { ...pair, caFile };
  refuse('must be set with TLS_CERT_FILE and TLS_KEY_FILE; got no certificate.');
  return undefined;
}

/** Reads the TLS files of the channel to GRPC_UPSTREAM, `undefined` without TLS; adds any problems to the reader. */
function upstreamTlsOf(settings: SettingsReader): TlsFiles | undefined {
  const on = settings.oneOf('GRPC_UPSTREAM_TLS', ['off', 'on']) === 'on';
  if (on && settings.given('GRPC_UPSTREAM') === undefined)
    settings.refuse(
      'GRPC_UPSTREAM_TLS',
      'must be set with GRPC_UPSTREAM, the gRPC server to call; got none.',
    );
  const pair = pairOf(settings, 'GRPC_UPSTREAM_CERT_FILE', 'GRPC_UPSTREAM_KEY_FILE');
  const caFile = settings.given('GRPC_UPSTREAM_CA_FILE');
  if (on) return { ...pair, caFile };
  const needsTls = 'must be set with GRPC_UPSTREAM_TLS=on; got off.';
  if (pair.certFile !== undefined) settings.refuse('GRPC_UPSTREAM_CERT_FILE', needsTls);
  if (caFile !== undefined) settings.refuse('GRPC_UPSTREAM_CA_FILE', needsTls);
  return undefined;
}

function pairOf(
  settings: SettingsReader,
  certName: SettingName,
  keyName: SettingName,
): Pick<TlsFiles, 'certFile' | 'keyFile'> {
  const certFile = settings.given(certName);
  const keyFile = settings.given(keyName);
  if (certFile === undefined && keyFile !== undefined)
    settings.refuse(certName, `must be set with ${keyName}; got none.`);
  if (keyFile === undefined && certFile !== undefined)
    settings.refuse(keyName, `must be set with ${certName}; got none.`);
  return { certFile, keyFile };
}

/** Reads the origins in `CORS_ORIGINS`: scheme, host, and the port unless it is the scheme's default (RFC 6454 6.2). */
function crossOriginsOf(settings: SettingsReader): readonly string[] {
  const origins = settings.list('CORS_ORIGINS');
  const wrong = origins.filter((each) => !isOrigin(each));
  if (wrong.length > 0) {
    settings.refuseValue(
      'CORS_ORIGINS',
      wrong.join(','),
      'must be origins as browsers send them, without a path and without a final slash, such as https://app.example.com,http://localhost:3000; in https://*.example.com, * stands for one label',
    );
  }
  return origins;
}

/** `*` as the whole leftmost label, with at least two labels after it. */
const WILDCARD = /^https:\/\/\*(?=(?:\.[^.]+){2})/;

function isOrigin(text: string): boolean {
  const example = text.replace(WILDCARD, 'https://any');
  const isUrl = /^https?:[^*]+$/.test(example) && URL.canParse(example);
  return isUrl && new URL(example).origin === example;
}
