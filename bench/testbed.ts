import type { DatabaseServer } from './database.js';
import type { Scale } from './scale.js';
import type { Server, Servers } from './servers.js';

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
 * - `other …`: the same targets on the other of two sides
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
  | Compared
  | `other ${Compared}`
  | `stored${number}`;

/** The targets that are also measured side by side. */
export type Compared = 'service' | 'cold';

/** A server under test, or the database itself, with what it stores. */
export interface Target extends Partial<Server> {
  /** `mysql://` URL of its database. */
  readonly databaseUrl: string;
  /** How many of its routes are asked for. */
  readonly routes: number;
}

/** Fills the databases and starts every server; they idle until they are called. */
export async function openTestbed(
  { routes, growth }: Scale,
  database: DatabaseServer,
  servers: Servers,
): Promise<ReadonlyMap<TargetName, Target>> {
  const main = await database.createDatabase(routes);
  const service = (settings = {}, behind: Server[] = []): Promise<Server> =>
    servers.service({ DATABASE_URL: main, ...settings }, behind);
  const echo = await servers.limit('grpc-echo');
  const sink = await servers.limit('otlp-sink');
  const grpc = await service({ ROLE: 'grpc' });
  const started: Partial<Record<TargetName, Server>> = {
    echo,
    app: await servers.limit('express-app'),
    router: await servers.limit('express-router'),
    hop: await servers.limit('grpc-hop', [echo.grpc ?? ''], [echo]),
    service: await service(),
    alone: await service(),
    unmetered: await service({ OPS_ADDRESS: 'off' }),
    unlogged: await service({ ACCESS_LOG: 'failures' }),
    traced: await service({ OTEL_EXPORTER_OTLP_ENDPOINT: `http://${sink.http ?? ''}` }),
    gateway: await service({ ROLE: 'gateway', GRPC_UPSTREAM: grpc.grpc ?? '' }, [grpc]),
  };
  const testbed = new Map<TargetName, Target>();
  for (const [name, server] of Object.entries(started))
    testbed.set(name as TargetName, { ...server, databaseUrl: main, routes });
  testbed.set('rows', { databaseUrl: await database.createDatabase(routes), routes });

  for (const stored of growth) {
    const databaseUrl = await database.createDatabase(stored);
    const settings = { DATABASE_URL: databaseUrl, ROLE: 'grpc' };
    const uncached = await servers.service({ ...settings, ROUTE_CACHE_MIB: '0' });
    testbed.set(`stored${stored}`, { ...uncached, databaseUrl, routes: stored });
    if (stored === growth.at(-1))
      testbed.set('cold', { ...(await servers.service(settings)), databaseUrl, routes: stored });
  }
  return testbed;
}
