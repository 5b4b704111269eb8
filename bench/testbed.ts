import type { DatabaseServer } from './database.js';
import type { Scale } from './scale.js';
import type { Server, Servers } from './servers.js';

/**
 * The targets of the scenarios:
 * - `service`: gateway and gRPC server in one process, as `npm start` starts it
 * - `uncached`: the same without its cache, so that every get is part of a query
 * - `gateway`: a separate gateway and its gRPC server, connected by TCP
 * - `go`, `go with a cache`, `fastify`, `tutorial`, `tutorial gateway`: the peers
 * - `echo`, `node:http`, `express`, `hop`: the bare servers
 * - `transcoder hop`, `upstream hop`, `quiet gateway hop`, `gateway hop`: more and more of a separate gateway, each in front
 *   of the bare echo: the transcoder; `grpcUpstream`, too; the gateway without metrics and log lines; the gateway
 * - `quiet server`: the gateway in front of a gRPC server without metrics and log lines
 * - `alone`: the service with only the requests that the next three get, so that V8 optimizes all four alike
 * - `unmetered`, `unlogged`: the same without metrics, and without a log line for each request
 * - `traced`: the same, but sends a span for every call to a collector that discards it
 * - `cold`: the service on the largest database, with nothing cached
 * - `stored…`: the gRPC server without its cache, on a database with this many routes
 * - `other …`: the same targets on the other side of a comparison
 */
export type TargetName =
  | 'uncached'
  | 'go'
  | 'go with a cache'
  | 'fastify'
  | 'tutorial'
  | 'tutorial gateway'
  | 'echo'
  | 'node:http'
  | 'express'
  | 'hop'
  | 'transcoder hop'
  | 'upstream hop'
  | 'quiet gateway hop'
  | 'gateway hop'
  | 'quiet server'
  | 'alone'
  | 'unmetered'
  | 'unlogged'
  | 'traced'
  | Compared
  | `other ${Compared}`
  | `stored${number}`;

/** The targets that are also measured side by side. */
export type Compared = 'service' | 'cold' | 'gateway';

/** A server under test and its database. */
export interface Target extends Server {
  /** `mysql://` URL of its database. */
  readonly databaseUrl: string;
  /** Number of its routes that are requested. */
  readonly routes: number;
}

/**
 * Fills the databases and starts every server.
 *
 * @param goBinary path of the Go peer's binary; default: the Go peer is not measured
 */
export async function openTestbed(
  { routes, growth }: Scale,
  database: DatabaseServer,
  servers: Servers,
  goBinary: string | undefined,
): Promise<ReadonlyMap<TargetName, Target>> {
  const main = await database.createDatabase(routes);
  const testbed = new Map<TargetName, Target>();
  const add = (name: TargetName, server: Server): void => {
    testbed.set(name, { ...server, databaseUrl: main, routes });
  };
  const service = (settings = {}): Promise<Server> => servers.service({ DATABASE_URL: main, ...settings });
  add('service', await service());
  add('uncached', await service({ ROUTE_CACHE_MIB: '0' }));
  add('gateway', await servers.apart({ DATABASE_URL: main }));

  add('fastify', await servers.peer('fastify', main));
  const tutorial = await servers.peer('tutorial-server', main);
  add('tutorial', tutorial);
  add('tutorial gateway', await servers.peer('tutorial-gateway', main, [tutorial.grpc ?? ''], [tutorial]));
  if (goBinary !== undefined) {
    add('go', await servers.goPeer(goBinary, main));
    add('go with a cache', await servers.goPeer(goBinary, main, ['-cache']));
  }
  const echo = await servers.bare('grpc-echo');
  add('echo', echo);
  add('node:http', await servers.bare('node-http'));
  add('express', await servers.bare('express-app'));
  add('hop', await servers.bare('grpc-hop', [echo.grpc ?? ''], [echo]));
  add('transcoder hop', await servers.bare('transcoder-hop', [echo.grpc ?? ''], [echo]));
  add('upstream hop', await servers.bare('upstream-hop', [echo.grpc ?? ''], [echo]));
  const gatewayOf = ({ grpc = '' }: Server): Record<string, string> => ({
    ROLE: 'gateway',
    GRPC_UPSTREAM: grpc,
  });
  const quiet = { OPS_ADDRESS: 'off', ACCESS_LOG: 'failures' };
  add('quiet gateway hop', await servers.service({ ...gatewayOf(echo), ...quiet }, [echo]));
  add('gateway hop', await servers.service(gatewayOf(echo), [echo]));
  const quietServer = await service({ ROLE: 'grpc', ...quiet });
  add('quiet server', await servers.service(gatewayOf(quietServer), [quietServer]));

  const sink = await servers.bare('otlp-sink');
  add('alone', await service());
  add('unmetered', await service({ OPS_ADDRESS: 'off' }));
  add('unlogged', await service({ ACCESS_LOG: 'failures' }));
  add('traced', await service({ OTEL_EXPORTER_OTLP_ENDPOINT: `http://${sink.http ?? ''}` }));

  for (const stored of growth) {
    const databaseUrl = await database.createDatabase(stored);
    const settings = { DATABASE_URL: databaseUrl };
    const uncached = await servers.service({ ...settings, ROLE: 'grpc', ROUTE_CACHE_MIB: '0' });
    testbed.set(`stored${stored}`, { ...uncached, databaseUrl, routes: stored });
    if (stored === growth.at(-1))
      testbed.set('cold', { ...(await servers.service(settings)), databaseUrl, routes: stored });
  }
  return testbed;
}
