import {
  ADDRESS_FORM,
  checkTarget,
  grpcAddressOf,
  type HostAndPort,
  opsAddressOf,
  splitAddress,
} from './addresses.js';
import { crossOriginsOf } from './cross-origins.js';
import { databaseOf } from './database-config.js';
import type { Database } from './database-url.js';
import { graveMisspellings } from './ignored-settings.js';
import { type Limits, readLimits } from './limits.js';
import { SettingsReader } from './settings.js';
import { serverTlsOf, type TlsFiles, upstreamTlsOf } from './tls-config.js';
import { type TokenConfig, tokensOf } from './token-config.js';
import { tracesOf } from './traces.js';

const BYTES_PER_MIB = 1_048_576;
/** The largest cache of routes, in MiB: an amount that a Node process easily holds. */
const ROUTE_CACHE_MAX_MIB = 1_024;
/** The longest waits that may be set for startup and shutdown, in milliseconds. */
const DATABASE_WAIT_MAX_MS = 3_600_000;
const DRAIN_DELAY_MAX_MS = 600_000;

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
      routeCacheBytes: settings.integer('ROUTE_CACHE_MIB', 0, ROUTE_CACHE_MAX_MIB) * BYTES_PER_MIB,
      logLevel: settings.oneOf('LOG_LEVEL', ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']),
      logFormat: settings.oneOf('LOG_FORMAT', ['auto', 'json', 'pretty']),
      accessLog: settings.oneOf('ACCESS_LOG', ['all', 'failures']),
      traces: tracesOf(settings),
    };
  });
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

function read<T extends object>(env: NodeJS.ProcessEnv, build: (settings: SettingsReader) => T): T {
  const settings = new SettingsReader(env);
  const built = build(settings);
  for (const { name, meant } of graveMisspellings(env)) {
    settings.problems.push(
      `${name} is not a setting; ${meant} was probably meant. If not, set ${meant} as well; it may be empty.`,
    );
  }
  if (settings.problems.length === 0) return Object.freeze(built);
  throw new ConfigError(['The settings cannot be used:', ...settings.problems].join('\n- '));
}

function databaseWaitOf(settings: SettingsReader): number {
  return settings.integer('DATABASE_WAIT_MS', 0, DATABASE_WAIT_MAX_MS);
}

function readGrpc(settings: SettingsReader): GrpcConfig {
  const database = databaseOf(settings);
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
