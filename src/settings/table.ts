import { address, addressOrOff, addressOrSocket, origins, target } from './addresses.js';
import { parseDatabaseUrl } from './database-url.js';
import {
  anyText,
  inFile,
  integer,
  type Kind,
  textLike,
  oneOf,
  onOff,
  readableFile,
  webUrl,
} from './kinds.js';
import { claim, claims, parties, scope, secret, secretFile } from './token-values.js';

/** The longest times that a setting accepts, in milliseconds. */
const TEN_MINUTES = 600_000;
const HOUR = 3_600_000;
const DAY = 86_400_000;
/** The most connections, streams or calls that any setting accepts. */
const MOST = 1_000_000;

const collector = webUrl('the http or https URL of a collector');
const basePath = textLike(
  /^(\/[A-Za-z0-9._~-]+)*$/,
  'must be empty or segments that each begin with a slash, such as /api/routes',
);
/** The name of a file, which is read where it is used. */
const file = anyText;

/** The kind of a value, and its default unless it has none. */
export type Setting = readonly [kind: Kind<unknown>, fallback?: string];

/** Every setting, by its environment variable. */
export const SETTINGS = {
  ROLE: [oneOf('all', 'grpc', 'gateway'), 'all'],
  DATABASE_URL: [parseDatabaseUrl, 'sqlite:data/routes.db'],
  DATABASE_URL_FILE: [inFile(parseDatabaseUrl)],
  GRPC_ADDRESS: [addressOrSocket, '127.0.0.1:50051'],
  HTTP_ADDRESS: [address, '127.0.0.1:8080'],
  OPS_ADDRESS: [addressOrOff, '127.0.0.1:9464'],
  GRPC_UPSTREAM: [target],
  GRPC_UPSTREAM_TLS: [onOff, 'off'],
  GRPC_UPSTREAM_CA_FILE: [file],
  GRPC_UPSTREAM_CERT_FILE: [file],
  GRPC_UPSTREAM_KEY_FILE: [file],
  TLS_CERT_FILE: [file],
  TLS_KEY_FILE: [file],
  TLS_CLIENT_CA_FILE: [file],
  BASE_PATH: [basePath],
  CORS_ORIGINS: [origins],
  JWT_SECRET: [secret],
  JWT_SECRET_FILE: [secretFile],
  JWT_PUBLIC_KEY_FILE: [readableFile],
  JWT_JWKS_URL: [webUrl('an http or https URL')],
  JWT_ISSUER: [parties],
  JWT_AUDIENCE: [parties],
  JWT_AUDIENCE_CLAIM: [claim],
  JWT_SCOPE_CLAIMS: [claims, 'scope,scp'],
  JWT_READ_SCOPE: [scope, 'routes:read'],
  JWT_WRITE_SCOPE: [scope, 'routes:write'],
  DUPLICATE_ROUTES: [oneOf('allow', 'reject'), 'allow'],
  DOCS: [onOff, 'on'],
  REFLECTION: [onOff, 'on'],
  ROUTE_CACHE_MIB: [integer(0, 1_024), '48'],
  DATABASE_WAIT_MS: [integer(0, HOUR), '0'],
  DRAIN_DELAY_MS: [integer(0, TEN_MINUTES), '0'],
  LOG_LEVEL: [oneOf('trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'), 'info'],
  LOG_FORMAT: [oneOf('auto', 'json', 'pretty'), 'auto'],
  ACCESS_LOG: [oneOf('all', 'failures'), 'all'],
  OTEL_EXPORTER_OTLP_ENDPOINT: [collector],
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: [collector],
  OTEL_TRACES_EXPORTER: [anyText, 'otlp'],
  OTEL_SDK_DISABLED: [anyText, 'false'],
  DEADLINE_MS: [integer(1, TEN_MINUTES), '5000'],
  MAX_MESSAGE_BYTES: [integer(1, 16_777_216), '65536'],
  MAX_CONNECTIONS: [integer(1, MOST), '5000'],
  MAX_STREAMS: [integer(1, MOST), '128'],
  MAX_CALLS: [integer(1, MOST), '2048'],
  MAX_WAITING_CALLS: [integer(2, MOST), '1024'],
  GRPC_IDLE_MS: [integer(1_000, DAY), '300000'],
  GRPC_MAX_AGE_MS: [integer(0, DAY), '0'],
  HTTP_IDLE_MS: [integer(1_000, DAY), '75000'],
} as const satisfies Record<string, Setting>;

type Settings = typeof SETTINGS;

/** The name of a setting. */
export type SettingName = keyof Settings;

/** What a setting is read as; undefined only without a default. */
export type SettingValue<Name extends SettingName> =
  ReturnType<Settings[Name][0]> | (Settings[Name] extends readonly [unknown, string] ? never : undefined);
