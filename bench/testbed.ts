import type { DatabaseServer } from './database.js';
import type { Scale } from './scale.js';
import { NO_CACHE, type Server, type Servers, UNLOGGED, UNMETERED } from './servers.js';

/**
 * The targets of calls:
 * - `echo`, `app`, `router`, `hop`: the bare limits
 * - `rows`: the table of routes, asked by the load generator itself
 * - `service`: gateway and gRPC server in one process, as `npm start` starts them
 * - `alone`: the same, which answers only what the next three answer, so that V8 has optimized it as much as them
 * - `unmetered`, `unlogged`: the same without metrics, and without a line for each request
 * - `traced`: the same, which sends a span of every call to a collector that keeps none
 * - `gateway`: a separate gateway and its gRPC server, joined by TCP
 * - `cold`: the service on the largest database, of which nothing is cached
 * - `stored…`: the service without its cache on a database with so many routes
 * - `workers`: the service with several workers
 * - `old …`: the same targets of another checkout of the project
 */
export type TargetName =
  | 'echo'
  | 'app'
  | 'router'
  | 'hop'
  | 'rows'
  | 'alone'
  | 'unmetered'
  | 'unlogged'
  | 'traced'
  | 'gateway'
  | 'workers'
  | Compared
  | `old ${Compared}`
  | `stored${number}`;

/** The targets that can be compared with those of another checkout. */
export type Compared = 'service' | 'cold';

/** A server under test with what it stores. */
export interface Target extends Server {
  /** `mysql://` URL of its database. */
  readonly databaseUrl?: string;
  /** How many of its routes are asked for. */
  readonly routes: number;
}

/** The target that stores this many routes. */
export function storedTarget(routes: number): TargetName {
  return `stored${routes}`;
}

/** Fills the databases and starts every server; they idle until they are called. */
export async function openTestbed(
  { routes, growth }: Scale,
  database: DatabaseServer,
  servers: Servers,
): Promise<ReadonlyMap<TargetName, Target>> {
  const testbed = new Map<TargetName, Target>();
  const add = (name: TargetName, server: Server, stored = routes, databaseUrl = ''): void => {
    testbed.set(name, { ...server, databaseUrl, routes: stored });
  };

  const echo = await servers.limit('grpc-echo');
  add('echo', echo);
  add('app', await servers.limit('express-app'));
  add('router', await servers.limit('express-router'));
  add('hop', await servers.limit('grpc-hop', [echo.grpc ?? ''], [echo]));
  add('rows', { pids: [] }, routes, await database.createDatabase(routes));

  const main = await database.createDatabase(routes);
  add('service', await servers.service({ DATABASE_URL: main }), routes, main);
  add('alone', await servers.service({ DATABASE_URL: main }), routes, main);
  add('unmetered', await servers.service({ DATABASE_URL: main, ...UNMETERED }), routes, main);
  add('unlogged', await servers.service({ DATABASE_URL: main, ...UNLOGGED }), routes, main);
  const { http: sink } = await servers.limit('otlp-sink');
  const traces = { OTEL_EXPORTER_OTLP_ENDPOINT: `http://${sink ?? ''}` };
  add('traced', await servers.service({ DATABASE_URL: main, ...traces }), routes, main);
  const grpc = await servers.service({ DATABASE_URL: main, ROLE: 'grpc' });
  const upstream = { ROLE: 'gateway', GRPC_UPSTREAM: grpc.grpc ?? '' };
  add('gateway', await servers.service(upstream, [grpc]), routes, main);

  for (const stored of growth) {
    const url = await database.createDatabase(stored);
    const settings = { DATABASE_URL: url, ROLE: 'grpc' };
    add(storedTarget(stored), await servers.service({ ...settings, ...NO_CACHE }), stored, url);
    if (stored === growth.at(-1)) add('cold', await servers.service(settings), stored, url);
  }
  return testbed;
}
