import type { DatabaseServer } from './database.js';
import type { Scale } from './scale.js';
import type { Server, Servers } from './servers.js';

/** The targets of the scenarios. */
export type TargetName =
  | Compared
  /** The same on the other side of a comparison. */
  | `other ${Compared}`
  /** The service in one process without its cache, so that every get is part of a query. */
  | 'uncached'
  /** The peers. */
  | 'go'
  | 'go with a cache'
  | 'fastify'
  | 'tutorial'
  | 'tutorial gateway'
  /** The bare servers. */
  | 'echo'
  | 'node:http'
  | 'express'
  /** Express's router with a plain grpc-js call, in front of the bare echo. */
  | 'hop'
  /** The transcoder in place of the router. */
  | 'transcoder hop'
  /** `grpcUpstream` in place of the plain call. */
  | 'upstream hop'
  /** The gateway, without metrics and log lines, in front of the bare echo. */
  | 'quiet gateway hop'
  /** The gateway in front of the bare echo. */
  | 'gateway hop'
  /** The gateway in front of the gRPC server without metrics and log lines. */
  | 'quiet server'
  /** The service with only the requests that the next three get, so that V8 optimizes all four alike. */
  | 'alone'
  /** The same without metrics. */
  | 'unmetered'
  /** The same without a log line for each request. */
  | 'unlogged'
  /** The same, but it sends a span for every call to a collector that discards it. */
  | 'traced'
  /** The gRPC server without its cache, on a database with this many routes. */
  | `stored${number}`;

/** The targets that a comparison of two versions measures, of each version. */
export type Compared =
  /** Gateway and gRPC server in one process, as `npm start` starts it. */
  | 'service'
  /** The same on the largest database, with nothing cached. */
  | 'cold'
  /** A separate gateway and its gRPC server, connected by TCP. */
  | 'gateway';

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
 * @param goBinary path of the Go peer's binary; undefined: the Go peer is not measured
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

  // The service.
  add('service', await service());
  add('uncached', await service({ ROUTE_CACHE_MIB: '0' }));
  add('gateway', await servers.apart({ DATABASE_URL: main }));

  // The peers.
  add('fastify', await servers.peer('fastify', main));
  const tutorial = await servers.peer('tutorial-server', main);
  add('tutorial', tutorial);
  add('tutorial gateway', await servers.peer('tutorial-gateway', main, [tutorial.grpc ?? ''], [tutorial]));
  if (goBinary !== undefined) {
    add('go', await servers.goPeer(goBinary, main));
    add('go with a cache', await servers.goPeer(goBinary, main, ['-cache']));
  }

  // The bare servers.
  const echo = await servers.bare('grpc-echo');
  add('echo', echo);
  add('node:http', await servers.bare('node-http'));
  add('express', await servers.bare('express-app'));

  // The hops.
  for (const [name, program] of [
    ['hop', 'grpc-hop'],
    ['transcoder hop', 'transcoder-hop'],
    ['upstream hop', 'upstream-hop'],
  ] as const)
    add(name, await servers.bare(program, [echo.grpc ?? ''], [echo]));
  const gateway = (server: Server, settings = {}): Promise<Server> =>
    servers.service({ ROLE: 'gateway', GRPC_UPSTREAM: server.grpc ?? '', ...settings }, [server]);
  const quiet = { OPS_ADDRESS: 'off', ACCESS_LOG: 'failures' };
  add('quiet gateway hop', await gateway(echo, quiet));
  add('gateway hop', await gateway(echo));
  add('quiet server', await gateway(await service({ ROLE: 'grpc', ...quiet })));

  // The costs.
  const sink = await servers.bare('otlp-sink');
  add('alone', await service());
  add('unmetered', await service({ OPS_ADDRESS: 'off' }));
  add('unlogged', await service({ ACCESS_LOG: 'failures' }));
  add('traced', await service({ OTEL_EXPORTER_OTLP_ENDPOINT: `http://${sink.http ?? ''}` }));

  // Growth.
  const largest = growth.at(-1);
  for (const stored of growth) {
    const databaseUrl = await database.createDatabase(stored);
    const settings = { DATABASE_URL: databaseUrl };
    const uncached = await servers.service({ ...settings, ROLE: 'grpc', ROUTE_CACHE_MIB: '0' });
    testbed.set(`stored${stored}`, { ...uncached, databaseUrl, routes: stored });
    if (stored === largest)
      testbed.set('cold', { ...(await servers.service(settings)), databaseUrl, routes: stored });
  }
  return testbed;
}
