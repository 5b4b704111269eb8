import type { Logger } from 'pino';
import { Closing, GRACE_MS } from './process/closing.js';
import type { Config, GrpcConfig, HttpConfig } from './settings/config.js';
import { createGateway } from './gateway/gateway.js';
import { requireServing } from './gateway/healthz.js';
import { descriptorSet } from './gen/descriptor-set.js';
import { Health } from './grpc/health.js';
import { Admission } from './calls/admission.js';
import { ByteCache } from './calls/byte-cache.js';
import { CallLog } from './calls/call-log.js';
import { createInterceptors, type Door } from './calls/interceptors.js';
import { createPipeline, type Interceptor, type Pipeline } from './calls/pipeline.js';
import { REALM, routeService } from './grpc/route-service.js';
import { ROUTE_SERVICE, startGrpcServer, STREAMING_PATHS } from './grpc/server.js';
import { openUpstream } from './open-upstream.js';
import { openOperations, type Operations } from './operations.js';
import { Monitor } from './ops/monitor.js';
import { WorkObserver } from './ops/work-observer.js';
import { type FollowedTls, followTls } from './process/followed-tls.js';
import { startHttpServer } from './process/http-server.js';
import { createDocuments } from './openapi/documents.js';
import { listening } from './process/opening.js';
import { Registry } from './registry/registry.js';
import { newRouteId } from './registry/route-id.js';
import { openRouteStore } from './route-store.js';
import { startTracing } from './start-tracing.js';
import { openTokenAuthenticator } from './token-authenticator.js';
import type { Tracing } from './tracing/tracing.js';

/** The dependencies that the service does not choose itself. */
export interface Surroundings {
  readonly logger: Logger;
  /** Milliseconds since the epoch; default: the system's clock. */
  readonly now?: () => number;
  /** Makes a UUIDv7 for the given time; default: a random one. */
  readonly newId?: (nowMs: number) => string;
  /** Ends a start that waits for the database. */
  readonly stop?: AbortSignal;
  /** How often the files of TLS are read again, in milliseconds; default: 10,000. */
  readonly rereadMs?: number;
}

/** The running service. */
export interface App {
  /** The address of the gRPC server, with its actual port; absent when it does not run. */
  readonly grpcAddress: string | undefined;
  /** The base of all REST paths; absent when the gateway does not run. */
  readonly httpUrl: string | undefined;
  /** The base of the pages for operators; absent for none. */
  readonly opsUrl: string | undefined;
  /**
   * Turns its health to not serving, goes on for `drainDelayMs`, then accepts nothing new, answers the calls in progress
   * and closes everything, the database last. Resolves at most eight seconds after the delay, with whether everything
   * was closed in that time.
   *
   * @throws AggregateError with everything that failed to close, after the rest is closed
   */
  close(): Promise<boolean>;
}

/**
 * Joins the rooms into a running service.
 *
 * @throws Error when something cannot be opened; everything opened before it is closed again
 */
export async function startApp(config: Config, surroundings: Surroundings): Promise<App> {
  const { logger } = surroundings;
  const closing = new Closing();
  const callLog = new CallLog(logger, config.limits.maxRefusalsLogged, config.accessLog);
  const parts: Parts = { ...surroundings, config, closing, callLog };
  try {
    const operations = await openOperations(config, parts);
    const tracing = config.traces ? await startTracing(parts) : undefined;
    const tls =
      config.tls && (await followTls('TLS_CERT_FILE, TLS_KEY_FILE or TLS_CLIENT_CA_FILE', config.tls, parts));
    const whole: Whole = { ...parts, operations, tls, tracing };
    const grpc = config.grpc && (await startGrpc(config.grpc, whole));
    const httpUrl = config.http && (await startHttp(config.http, grpc?.pipeline, whole));
    const log = (step: string, ms: number): void => {
      logger.info({ ms }, step);
    };
    const close = (): Promise<boolean> => {
      operations.readiness.drain();
      return closing.close({ drainMs: config.drainDelayMs, log });
    };
    operations.readiness.run();
    return { grpcAddress: grpc?.address, httpUrl, opsUrl: operations.url, close };
  } catch (error) {
    await closing.close().catch((err: unknown) => {
      logger.error({ err }, 'not everything could be closed');
    });
    throw error;
  }
}

/** The parts that both halves share. */
interface Parts extends Surroundings {
  readonly config: Config;
  readonly closing: Closing;
  readonly callLog: CallLog;
}

interface Whole extends Parts {
  readonly operations: Operations;
  /** The certificate of both faces; absent for none. */
  readonly tls: FollowedTls | undefined;
  /** Absent where no spans are sent. */
  readonly tracing: Tracing | undefined;
}

interface StartedGrpc {
  readonly address: string;
  /** For the gateway in the same process, which writes the lines of its calls. */
  readonly pipeline: Pipeline;
}

async function startGrpc(
  { address, database, replicas, tokens, duplicateRoutes, reflection }: GrpcConfig,
  whole: Whole,
): Promise<StartedGrpc> {
  const { config, closing, logger, callLog, tls, tracing, stop, rereadMs } = whole;
  const { now = Date.now, newId = newRouteId } = whole;
  const { readiness, metrics } = whole.operations;
  const { limits, databaseWaitMs, routeCacheBytes } = config;
  const authenticator = openTokenAuthenticator(tokens, { closing, logger, now, rereadMs });

  const work = new WorkObserver();
  const observers = present([work, metrics?.statements(), tracing?.statements(database)]);
  const { store, schemaVersion, pools } = await openRouteStore(
    { database, replicas, silenceMs: limits.deadlineMs, waitMs: databaseWaitMs },
    { closing, logger, stop, observers },
  );
  readiness.pass('schema', `version ${schemaVersion}`);
  const registry = new Registry({ store, duplicates: duplicateRoutes, now, newId });

  const health = new Health([ROUTE_SERVICE]);
  const monitor = new Monitor({
    name: 'the store',
    check: () => store.ping(),
    workedAt: work.workedAt,
    onChecked: (well) => {
      health.setServing(well);
    },
    log: logger,
  });
  await monitor.start();
  readiness.watch('database', monitor);
  closing.announce('not serving', () => {
    monitor.stop();
    health.setServing(false);
  });

  const cache = new ByteCache(routeCacheBytes);
  const methods = [...routeService(registry, cache), ...health.methods()];
  const admission = new Admission(limits);
  const parts = { ...limits, authenticator, admission, now, log: callLog };
  metrics?.schemaVersion(schemaVersion);
  metrics?.pools(pools);
  metrics?.caches({ routes: () => cache, tokens: () => authenticator.remembered });
  const measured = metrics?.calls({ unary: methods.map(({ path }) => path), ...STREAMING_PATHS });
  const pipelineFor = (door: Door, ...observers: (Interceptor | undefined)[]): Pipeline =>
    createPipeline(methods, createInterceptors({ ...parts, observers: present(observers) }, door));
  const pipeline = pipelineFor('grpc', tracing?.calls, measured?.interceptor);
  const observeStreaming = measured?.beginStreaming;
  const server = await listening('GRPC_ADDRESS', address, () =>
    startGrpcServer({ address, methods, pipeline, health, reflection, limits, tls, observeStreaming }),
  );
  closing.server('gRPC server', () => server.close(GRACE_MS));
  return { address: server.address, pipeline: pipelineFor('gateway', tracing?.calls) };
}

async function startHttp(
  { host, port, basePath, upstream: target, upstreamTls, docs, corsOrigins }: HttpConfig,
  pipeline: Pipeline | undefined,
  whole: Whole,
): Promise<string> {
  const {
    config,
    config: { limits },
    closing,
    logger,
    callLog,
    tls,
    operations: { readiness, metrics },
    tracing,
  } = whole;
  const scheme = tls === undefined ? 'http' : 'https';
  const upstream = await openUpstream(target, upstreamTls, pipeline, whole);
  const gateway = createGateway({
    descriptorSet,
    upstream,
    basePath,
    deadlineMs: limits.deadlineMs,
    maxBodyBytes: limits.maxMessageBytes,
    maxRequests: limits.maxCalls,
    realm: REALM,
    corsOrigins,
    pages: docs ? createDocuments(basePath) : [],
    log: logger,
    mayLog: (kind) => callLog.mayWrite(kind),
    answeredLevel: callLog.answeredLevel,
    observers: present([metrics?.requests(), tracing?.requests(scheme)]),
  });
  // In one process, the health of the gRPC server is the gateway's.
  if (pipeline === undefined || target !== undefined) {
    const log = logger;
    const monitor = new Monitor({ name: 'the gRPC server', check: () => requireServing(upstream), log });
    readiness.watch('upstream', monitor);
    // Only for operators: the health is asked of the server itself each time.
    if (config.ops !== undefined) void monitor.start();
    closing.announce('not serving', () => {
      monitor.stop();
      gateway.drain();
    });
  }
  const writtenHost = host.includes(':') ? `[${host}]` : host;
  const { server, port: realPort } = await listening('HTTP_ADDRESS', `${writtenHost}:${port}`, () =>
    startHttpServer(gateway, host, port, limits, tls),
  );
  closing.server('HTTP server', () => server.close(GRACE_MS));
  return `${scheme}://${writtenHost}:${realPort}${basePath}`;
}

/** Those that watch; each is absent where it is turned off. */
function present<T>(observers: readonly (T | undefined)[]): T[] {
  return observers.filter((observer) => observer !== undefined);
}
