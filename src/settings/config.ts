import { type HostAndPort, isSameAddress, splitAddress } from './addresses.js';
import type { Database } from './database-url.js';
import { SettingsReader } from './reader.js';
import type { SettingName } from './table.js';
import { isLocalMode, scopesOf, type TokenConfig, tokensOf } from './tokens.js';
import { tracesOf } from './traces.js';
import { misspelledSettings } from './unknown-settings.js';

const BYTES_PER_MIB = 1_048_576;

/** The configuration of the process. A server that does not run is absent. */
export type Config = ReturnType<typeof configOf>;
/** The gRPC server. */
export type GrpcConfig = NonNullable<Config['grpc']>;
/** The REST gateway. */
export type HttpConfig = NonNullable<Config['http']>;
/** The limits on all incoming traffic. None of them can be turned off, except the age of connections. */
export type Limits = Config['limits'];

/** The TLS files of one party, each in PEM. */
export interface TlsFiles {
  /** The party's certificate with its chain, and the private key: both or neither. */
  readonly certFile: string | undefined;
  readonly keyFile: string | undefined;
  /** The certificate authorities trusted to sign the other party's certificate. */
  readonly caFile: string | undefined;
}

/** Invalid settings. The message lists every problem, one per line, and contains no secret. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

/** Reads the whole configuration. @throws ConfigError with every problem */
export function readConfig(env: NodeJS.ProcessEnv): Config {
  return read(env, configOf);
}

/** Reads only the settings for a migration. @throws ConfigError with every problem */
export function readMigration(env: NodeJS.ProcessEnv) {
  return read(env, (settings) => ({
    database: databaseOf(settings),
    databaseWaitMs: settings.get('DATABASE_WAIT_MS'),
  }));
}

/** Reads only the settings for tokens. @throws ConfigError with every problem */
export function readTokens(env: NodeJS.ProcessEnv): TokenConfig {
  return read(env, (settings) => tokensOf(settings, databaseOf(settings)));
}

/** Reads only the scopes that permit calls. @throws ConfigError with every problem */
export function readScopes(env: NodeJS.ProcessEnv) {
  return read(env, scopesOf);
}

function read<T extends object>(env: NodeJS.ProcessEnv, build: (settings: SettingsReader) => T): Readonly<T> {
  const settings = new SettingsReader(env);
  const built = build(settings);
  const problems = [...settings.problems, ...misspelledSettings(env)];
  if (problems.length === 0) return Object.freeze(built);
  throw new ConfigError(['The settings cannot be used:', ...problems].join('\n- '));
}

function configOf(settings: SettingsReader) {
  const role = settings.get('ROLE');
  return {
    grpc: role === 'gateway' ? undefined : grpcOf(settings),
    http: role === 'grpc' ? undefined : httpOf(settings, role === 'gateway'),
    /** The address of the operators' listener; undefined if there is none, in which case nothing is measured. */
    ops: opsOf(settings, PUBLIC[role]),
    /** The TLS files of the gRPC and HTTP servers; absent without TLS. */
    tls: serverTlsOf(settings, role !== 'gateway'),
    limits: {
      /** The time limit of one call, including the time to receive its body and to wait, in milliseconds. */
      deadlineMs: settings.get('DEADLINE_MS'),
      /** The largest request message or body, in bytes, once it is decompressed. */
      maxMessageBytes: settings.get('MAX_MESSAGE_BYTES'),
      /** Open connections of each server. */
      maxConnections: settings.get('MAX_CONNECTIONS'),
      /** Open streams of one gRPC connection. */
      maxStreams: settings.get('MAX_STREAMS'),
      /** Unary calls in progress, of both protocols together; and REST requests in progress. */
      maxCalls: settings.get('MAX_CALLS'),
      /** Calls waiting for the database; one caller may have at most half of them. */
      maxWaitingCalls: settings.get('MAX_WAITING_CALLS'),
      /** How long a gRPC connection without calls may stay silent, in milliseconds; pings keep it open. */
      grpcIdleMs: settings.get('GRPC_IDLE_MS'),
      /** The greatest age of a gRPC connection, in milliseconds; 0 for no limit. */
      grpcMaxAgeMs: settings.get('GRPC_MAX_AGE_MS'),
      /** How long an HTTP connection may wait for its next request, in milliseconds. */
      httpIdleMs: settings.get('HTTP_IDLE_MS'),
    },
    /** How long startup waits for an unreachable database, in milliseconds. */
    databaseWaitMs: settings.get('DATABASE_WAIT_MS'),
    /** How long the service keeps serving after it has announced its stop, in milliseconds. */
    drainDelayMs: settings.get('DRAIN_DELAY_MS'),
    ...cacheSizesOf(settings),
    logLevel: settings.get('LOG_LEVEL'),
    logFormat: settings.get('LOG_FORMAT'),
    /** Which requests are logged: all, or only failed ones. */
    accessLog: settings.get('ACCESS_LOG'),
    /** Whether spans are sent; the OpenTelemetry SDK itself reads the destination and further options. */
    traces: tracesOf(settings),
  } as const;
}

function cacheSizesOf(settings: SettingsReader) {
  const routeCacheBytes = settings.get('ROUTE_CACHE_MIB') * BYTES_PER_MIB;
  return {
    /** The size of the gRPC server's cache of routes, in bytes. */
    routeCacheBytes,
    /** The size of the gateway's cache of rendered replies, in bytes: rendering again costs far less than a query. */
    replyCacheBytes: Math.floor(routeCacheBytes / 6),
  } as const;
}

function grpcOf(settings: SettingsReader) {
  const database = databaseOf(settings);
  // Otherwise a misspelled name would send creates to a file that nobody keeps.
  const isGiven = settings.isGiven('DATABASE_URL') || settings.isGiven('DATABASE_URL_FILE');
  if (!isLocalMode(settings, database) && !isGiven)
    settings.refuse('DATABASE_URL', 'must be set when a setting of tokens (JWT_…) is set; got none.');
  return {
    /** `host:port` or `unix:/path` */
    address: settings.get('GRPC_ADDRESS'),
    database,
    tokens: tokensOf(settings, database),
    duplicateRoutes: settings.get('DUPLICATE_ROUTES'),
    reflection: settings.get('REFLECTION'),
  } as const;
}

function httpOf(settings: SettingsReader, alone: boolean) {
  if (alone && !settings.isGiven('GRPC_UPSTREAM'))
    settings.refuse('GRPC_UPSTREAM', 'must be the gRPC server that ROLE=gateway calls; got none.');
  return {
    ...settings.get('HTTP_ADDRESS'),
    /** Empty, or segments that each begin with a slash. */
    basePath: settings.get('BASE_PATH') ?? '',
    /**
     * The gRPC server to call, a target of grpc-js (`host:port`, `dns:///…`); absent for the server in this process.
     */
    upstream: settings.get('GRPC_UPSTREAM'),
    /** The TLS files for that server; absent without TLS. */
    upstreamTls: upstreamTlsOf(settings),
    /** The origins whose scripts may call the gateway, as browsers send them. */
    corsOrigins: settings.get('CORS_ORIGINS') ?? [],
    /** Whether to serve the OpenAPI document and its interactive page. */
    docs: settings.get('DOCS'),
  } as const;
}

/** Reads where the routes are stored: from `DATABASE_URL`, or from a file, since the URL may hold a password. */
function databaseOf(settings: SettingsReader): Database {
  if (settings.isGiven('DATABASE_URL_FILE') && settings.isGiven('DATABASE_URL'))
    settings.refuse('DATABASE_URL_FILE', 'must be set without DATABASE_URL; got both.');
  return settings.get('DATABASE_URL_FILE') ?? settings.get('DATABASE_URL');
}

/** The settings that hold the public addresses of each role. */
const PUBLIC = {
  all: ['GRPC_ADDRESS', 'HTTP_ADDRESS'],
  grpc: ['GRPC_ADDRESS'],
  gateway: ['HTTP_ADDRESS'],
} as const;

function opsOf(
  settings: SettingsReader,
  protocols: readonly ('GRPC_ADDRESS' | 'HTTP_ADDRESS')[],
): HostAndPort | undefined {
  const addressIn = (name: SettingName) => splitAddress(settings.text(name) ?? '');
  const protocol = protocols.find((name) => isSameAddress(addressIn('OPS_ADDRESS'), addressIn(name)));
  if (protocol !== undefined)
    settings.refuseValue('OPS_ADDRESS', `must differ from ${protocol}, which is public`);
  return settings.get('OPS_ADDRESS');
}

function serverTlsOf(settings: SettingsReader, hasGrpc: boolean): TlsFiles | undefined {
  const pair = pairOf(settings, 'TLS_CERT_FILE', 'TLS_KEY_FILE');
  const caFile = settings.get('TLS_CLIENT_CA_FILE');
  const refuse = (problem: string): void => {
    if (caFile !== undefined) settings.refuse('TLS_CLIENT_CA_FILE', problem);
  };
  if (!hasGrpc) refuse('must not be set with ROLE=gateway, which runs no gRPC server; got a file.');
  if (pair.certFile !== undefined) return { ...pair, caFile };
  refuse('must be set with TLS_CERT_FILE and TLS_KEY_FILE; got no certificate.');
  return undefined;
}

function upstreamTlsOf(settings: SettingsReader): TlsFiles | undefined {
  const on = settings.get('GRPC_UPSTREAM_TLS');
  if (on && !settings.isGiven('GRPC_UPSTREAM'))
    settings.refuse(
      'GRPC_UPSTREAM_TLS',
      'must be set with GRPC_UPSTREAM, the gRPC server to call; got none.',
    );
  const pair = pairOf(settings, 'GRPC_UPSTREAM_CERT_FILE', 'GRPC_UPSTREAM_KEY_FILE');
  const caFile = settings.get('GRPC_UPSTREAM_CA_FILE');
  if (on) return { ...pair, caFile };
  if (settings.text('GRPC_UPSTREAM_TLS') !== 'off') return undefined;
  const needsTls = 'must be set with GRPC_UPSTREAM_TLS=on; got off.';
  if (pair.certFile !== undefined) settings.refuse('GRPC_UPSTREAM_CERT_FILE', needsTls);
  if (caFile !== undefined) settings.refuse('GRPC_UPSTREAM_CA_FILE', needsTls);
  return undefined;
}

function pairOf(
  settings: SettingsReader,
  certName: 'TLS_CERT_FILE' | 'GRPC_UPSTREAM_CERT_FILE',
  keyName: 'TLS_KEY_FILE' | 'GRPC_UPSTREAM_KEY_FILE',
): Pick<TlsFiles, 'certFile' | 'keyFile'> {
  const certFile = settings.get(certName);
  const keyFile = settings.get(keyName);
  if (certFile === undefined && keyFile !== undefined)
    settings.refuse(certName, `must be set with ${keyName}; got none.`);
  if (keyFile === undefined && certFile !== undefined)
    settings.refuse(keyName, `must be set with ${certName}; got none.`);
  return { certFile, keyFile };
}
