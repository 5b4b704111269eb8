import { createSecretKey, type KeyObject } from 'node:crypto';
import { Writable } from 'node:stream';
import { credentials, Metadata, type ServiceError } from '@grpc/grpc-js';
import jwt from 'jsonwebtoken';
import { pino } from 'pino';
import { type App, type Dependencies, startApp } from '../../src/app.js';
import { readConfig } from '../../src/settings/config.js';
import { parseDatabaseUrl } from '../../src/settings/database-url.js';
import {
  type CreateRouteRequest,
  type Route,
  RouteServiceClient,
} from '../../src/gen/routing/v1/route_service.js';
import { openForMigrations } from '../../src/store/database.js';
import { migrateUp } from '../../src/store/migrations.js';
import type { Engine } from './engine.js';

const SECRET = 'a secret of the tests, long enough for HS256';
const ISSUER = 'https://issuer.test';
const AUDIENCE = 'route-registry';
const SCOPES = 'routes:read routes:write';

/** How the gateway reaches the gRPC server: in the same process, or over a channel to another process. */
export const TOPOLOGIES = ['in process', 'over a channel'] as const;
export type Topology = (typeof TOPOLOGIES)[number];

/** The complete service on real sockets. */
export interface Service {
  readonly grpcAddress: string;
  /** The base URL of the REST gateway. */
  readonly httpUrl: string;
  /** The base URLs of the operator pages, one for each process: that of the gRPC server comes first. */
  readonly opsUrls: readonly string[];
  readonly client: RouteServiceClient;
  /** The parsed lines of the log. */
  readonly log: Record<string, unknown>[];
  close(): Promise<void>;
}

/** The options of a service for tests. */
export interface ServiceOptions {
  readonly databaseUrl: string;
  readonly topology?: Topology;
  readonly settings?: Readonly<Record<string, string>>;
  readonly dependencies?: Omit<Dependencies, 'logger'>;
}

/** Starts the service on a migrated database. */
export async function startService(options: ServiceOptions): Promise<Service> {
  const { databaseUrl, topology = 'in process', settings = {}, dependencies = {} } = options;
  const log: Record<string, unknown>[] = [];
  const sink = new Writable({
    write(line: Buffer, _encoding, done) {
      log.push(JSON.parse(line.toString()) as Record<string, unknown>);
      done();
    },
  });
  const logger = pino({ level: 'debug' }, sink);
  const start = (role: Record<string, string>): Promise<App> =>
    startApp(readConfig({ ...SERVICE_SETTINGS, DATABASE_URL: databaseUrl, ...settings, ...role }), {
      ...dependencies,
      logger,
    });

  await migrate(databaseUrl);
  const apps: App[] = [];
  if (topology === 'in process') {
    apps.push(await start({ ROLE: 'all' }));
  } else {
    const server = await start({ ROLE: 'grpc' });
    apps.push(server, await start({ ROLE: 'gateway', GRPC_UPSTREAM: server.grpcAddress ?? '' }));
  }
  const grpcAddress = apps[0]?.grpcAddress ?? '';
  const httpUrl = apps.at(-1)?.httpUrl ?? '';
  const client = new RouteServiceClient(grpcAddress, credentials.createInsecure());
  return {
    grpcAddress,
    httpUrl,
    opsUrls: apps.map(({ opsUrl = '' }) => opsUrl),
    client,
    log,
    async close() {
      client.close();
      for (const app of apps.reverse()) await app.close();
    },
  };
}

/** Starts the service on a new database, which is dropped when the service is closed. */
export async function startServiceOn(
  engine: Engine,
  options: Omit<ServiceOptions, 'databaseUrl'> = {},
): Promise<Service> {
  const database = await engine.createDatabase();
  const service = await startService({ ...options, databaseUrl: database.url });
  return {
    ...service,
    async close() {
      await service.close();
      await database.drop();
    },
  };
}

/** Settings of a service that listens on free ports. */
export const FREE_PORTS = {
  GRPC_ADDRESS: '127.0.0.1:0',
  HTTP_ADDRESS: '127.0.0.1:0',
  OPS_ADDRESS: '127.0.0.1:0',
} as const;

/** Settings of a service that also accepts the tokens of `tokenFor`. */
export const SERVICE_SETTINGS = {
  ...FREE_PORTS,
  JWT_SECRET: SECRET,
  JWT_ISSUER: ISSUER,
  JWT_AUDIENCE: AUDIENCE,
};

async function migrate(databaseUrl: string): Promise<void> {
  const knex = openForMigrations(parseDatabaseUrl(databaseUrl));
  await migrateUp(knex);
  await knex.destroy();
}

/** How to sign a token. */
interface Signing {
  readonly key: KeyObject;
  readonly algorithm: jwt.Algorithm;
  readonly keyid: string;
}

/** A token that the service accepts, unless the given claims or signature make it invalid. */
export function tokenFor(claims: Readonly<Record<string, unknown>> = {}, signing?: Signing): string {
  const nowSeconds = Math.floor(Date.now() / 1_000);
  const payload = {
    sub: 'tester',
    iss: ISSUER,
    aud: AUDIENCE,
    exp: nowSeconds + 300,
    scope: SCOPES,
    ...claims,
  };
  const { key = createSecretKey(Buffer.from(SECRET)), ...options } = signing ?? { algorithm: 'HS256' };
  return jwt.sign(payload, key, { ...options, noTimestamp: true });
}

/** The metadata of a call: the bearer token, if there is one, and any other entries. */
export function metadataOf(token: string | undefined, rest: Readonly<Record<string, string>> = {}): Metadata {
  const metadata = new Metadata();
  if (token !== undefined) metadata.set('authorization', `Bearer ${token}`);
  for (const [key, value] of Object.entries(rest)) metadata.set(key, value);
  return metadata;
}

/** A route to create, whose path is the name of its handler. */
export function routeTo(handler: string): Route {
  return { id: '', method: 'GET', path: `/${handler}`, middleware: [], handler, createdAt: undefined };
}

/** The outcome of a gRPC call. */
export interface Outcome {
  readonly error: ServiceError | undefined;
  readonly route: Route | undefined;
  readonly trailers: Metadata;
}

/** Creates a route over gRPC. */
export function create(
  client: RouteServiceClient,
  request: CreateRouteRequest,
  metadata: Metadata,
): Promise<Outcome> {
  return outcomeOf((done) => client.createRoute(request, metadata, done));
}

/** Gets a route over gRPC. */
export function get(client: RouteServiceClient, routeId: string, metadata: Metadata): Promise<Outcome> {
  return outcomeOf((done) => client.getRoute({ routeId }, metadata, done));
}

type Callback = (error: ServiceError | null, route?: Route) => void;
type Calling = (done: Callback) => {
  on(event: 'status', listener: (status: { metadata: Metadata }) => void): unknown;
};

function outcomeOf(call: Calling): Promise<Outcome> {
  return new Promise((resolve) => {
    let answer: Pick<Outcome, 'error' | 'route'> = { error: undefined, route: undefined };
    call((error, route) => {
      answer = { error: error ?? undefined, route };
    }).on('status', ({ metadata }) => {
      resolve({ ...answer, trailers: metadata });
    });
  });
}
