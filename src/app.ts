import { readFileSync } from 'node:fs';
import type { Upstream } from '@route-registry/transcoder';
import type { Logger } from 'pino';
import { CallLog, logCalls, nameCaller } from './calls/call-log.js';
import type { Interceptor } from './calls/call.js';
import { MessageCache } from './calls/message-cache.js';
import { createPipeline, createSteps, type Pipeline } from './calls/pipeline.js';
import { serviceNamesOf } from './calls/service.js';
import { FollowedTls } from './files/followed-tls.js';
import { createGateway } from './gateway/gateway.js';
import { requireServing } from './gateway/healthz.js';
import { HttpServer } from './gateway/http-server.js';
import { memoryUpstream, onWallClock, openChannel } from './gateway/upstream.js';
import { descriptorSet } from './gen/descriptor-set.js';
import { Health } from './grpc/health.js';
import { routeService } from './grpc/route-service.js';
import { startGrpcServer, STREAMING_PATHS } from './grpc/server.js';
import { Closing, GRACE_MS } from './lifecycle/closing.js';
import { listenOrExplain, openOrExplain } from './lifecycle/start.js';
import { openTokenKeys } from './lifecycle/token-keys.js';
import type { Metrics } from './observability/metrics/metrics.js';
import { Monitor } from './observability/monitor.js';
import { startOpsServer } from './observability/ops-server.js';
import { Readiness } from './observability/readiness.js';
import type { Tracing } from './observability/tracing/tracing.js';
import { createDocuments } from './openapi/document.js';
import { newRouteId, Registry } from './registry/registry.js';
import { joinAddress } from './settings/addresses.js';
import type { Config, GrpcConfig, HttpConfig, TlsFiles } from './settings/config.js';
import { countOrWarn, reachOrExplain, useOrExplain } from './store/database-start.js';
import { closeDatabase, openForCalls } from './store/database.js';
import { KnexRouteStore } from './store/knex-route-store.js';
import { ensureSchema } from './store/migrations.js';
import { poolFigures } from './store/pool.js';

/** The protection space of the service, as named in challenges (RFC 9110, section 11.5). */
const REALM = 'route-registry';
/** A connection to the database may always be silent for this long, in milliseconds: longer than it waits for a lock. */
const SHORTEST_SILENCE_MS = 5_000;

/** The running service. */
export interface App {
  /** The address of the gRPC server, with its actual port; absent when it does not run. */
  readonly grpcAddress: string | undefined;
  /** The base URL of all REST paths; absent when the gateway does not run. */
  readonly httpUrl: string | undefined;
  /** The base URL of the operators' pages; absent when they are off. */
  readonly opsUrl: string | undefined;
  /**
   * Reports not serving, keeps serving for `drainDelayMs`, then accepts no new work, completes the calls in progress
   * and closes everything: the servers, then the database, then the followed files, the span queue and the operators'
   * listener. Resolves within eight seconds after the delay, to whether everything was closed in that time.
   *
   * @throws AggregateError with everything that failed to close, after the rest is closed
   */
  close(): Promise<boolean>;
}

/** The dependencies that are injected into the service. */
export interface Dependencies {
  readonly logger: Logger;
  /** Milliseconds since the epoch; default: the system's clock. */
  readonly now?: () => number;
  /** Milliseconds of a clock that never steps; default: `performance.now()`. */
  readonly monotonic?: () => number;
  /** Generates a UUIDv7 for a time; default: with random bits. */
  readonly newId?: (nowMs: number) => string;
  /** Aborts a start that is waiting for the database. */
  readonly stop?: AbortSignal;
  /** The pause after each check of the database and of the upstream, in milliseconds; default: 2,000. */
  readonly checkMs?: number;
  /** The time limit of such a check, in milliseconds; default: 2,000. */
  readonly checkLimitMs?: number;
  /** How often key files and TLS files are reread, in milliseconds; default: 10,000. */
  readonly fileCheckMs?: number;
}

/** What all parts of the process share. */
interface Parts extends Dependencies {
  readonly config: Config;
  readonly closing: Closing;
  readonly callLog: CallLog;
  readonly readiness: Readiness;
  /** Absent when nothing is measured. */
  readonly metrics: Metrics | undefined;
  /** Absent when tracing is off. */
  readonly tracing: Tracing | undefined;
  /** The certificate of the gRPC and HTTP servers; absent without TLS. */
  readonly tls: FollowedTls | undefined;
}

/**
 * Opens the parts of the service and connects them.
 *
 * @throws Error when a part cannot be opened; everything opened before it is closed again
 */
export async function startApp(config: Config, dependencies: Dependencies): Promise<App> {
  const { logger } = dependencies;
  const closing = new Closing();
  const opened = { ...dependencies, config, closing, callLog: new CallLog(logger, config.accessLog) };
  try {
    // The first to open, so that it closes last.
    const { opsUrl, ...operations } = await openOperations(opened);

    const tracing = config.traces ? await openTracing(opened) : undefined;
    const tlsSettings = 'TLS_CERT_FILE, TLS_KEY_FILE or TLS_CLIENT_CA_FILE';
    const tls = config.tls && (await followTls(tlsSettings, config.tls, opened));
    if (tls !== undefined) operations.metrics?.addCertificate(() => tls.validity);
    const parts = { ...opened, ...operations, tracing, tls };

    const grpc = config.grpc && (await startGrpc(config.grpc, parts));
    const httpUrl = config.http && (await startRest(config.http, grpc?.pipelineOfGateway, parts));

    const log = (step: string, ms: number): void => {
      logger.info({ ms }, step);
    };
    const close = (): Promise<boolean> => {
      operations.readiness.drain();
      return closing.close({ drainMs: config.drainDelayMs, log });
    };

    operations.readiness.run();
    return { grpcAddress: grpc?.address, httpUrl, opsUrl, close };
  } catch (error) {
    await closing.close().catch((err: unknown) => {
      logger.error({ err }, 'not everything could be closed');
    });
    throw error;
  }
}

/** Starts the operators' listener. If `OPS_ADDRESS` is `off`, there is none and nothing is measured. */
async function openOperations({
  config: { ops, grpc, http },
  closing,
  callLog,
}: Pick<Parts, 'config' | 'closing' | 'callLog'>): Promise<
  Pick<Parts, 'readiness' | 'metrics'> & Pick<App, 'opsUrl'>
> {
  const checks: string[] = [];
  if (grpc !== undefined) checks.push('database', 'schema');
  if (grpc?.tokens.key.kind === 'jwks') checks.push('keys');
  if (http?.upstream !== undefined) checks.push('upstream');
  const readiness = new Readiness(checks);

  if (ops === undefined) return { readiness, metrics: undefined, opsUrl: undefined };

  // Loaded only when metrics are on.
  const { Metrics } = await import('./observability/metrics/metrics.js');
  const metrics = new Metrics();
  const role = grpc === undefined ? 'gateway' : http === undefined ? 'grpc' : 'all';
  metrics.addBuildInfo({ version: serviceVersion(), role });
  metrics.addReadiness(readiness);
  metrics.addLinesLeftOut(callLog.leftOut);

  const { host, port } = ops;
  const pages = { readiness: () => readiness.report, metrics };
  const opsUrl = await listenOrExplain('OPS_ADDRESS', joinAddress(host, port), async (_, realHost) => {
    const server = await startOpsServer(realHost, port, pages);
    closing.resource('listener for operators', () => server.close());
    return `http://${joinAddress(realHost, server.port)}`;
  });
  return { readiness, metrics, opsUrl };
}

/** Starts the gRPC server. */
async function startGrpc(config: GrpcConfig, parts: Parts) {
  const { closing, logger, callLog, metrics, tracing, tls } = parts;
  const { limits } = parts.config;
  const { methods, authenticator, health } = await openRouteService(config, parts);

  // Shared by both pipelines, so that each limit holds for both protocols together.
  const steps = createSteps({ ...limits, authenticator, log: callLog });
  const pipelineObservedBy = (...observers: (Interceptor | undefined)[]): Pipeline =>
    createPipeline(
      methods,
      steps,
      observers.filter((observer) => observer !== undefined),
    );

  const measured = metrics?.measureCalls({ unary: methods.map(({ path }) => path), ...STREAMING_PATHS });
  const pipeline = pipelineObservedBy(tracing?.calls, measured?.interceptor, logCalls(callLog));
  // The gateway measures and logs its own requests, for which it needs only the caller from this pipeline.
  const pipelineOfGateway = pipelineObservedBy(tracing?.calls, nameCaller);

  const server = await listenOrExplain('GRPC_ADDRESS', config.address, (address) =>
    startGrpcServer({
      address,
      methods,
      pipeline,
      health,
      reflection: config.reflection,
      limits,
      tls,
      observeStreaming: measured?.beginStreaming,
      onConnectionError: (reason) => {
        if (callLog.mayWrite('unauthenticated'))
          logger.warn({ reason }, 'a gRPC connection was closed because of an error');
      },
    }),
  );
  closing.server('gRPC server', () => server.close(GRACE_MS));
  return { address: server.address, pipelineOfGateway };
}

/** Opens everything behind the pipeline: keys, store, registry, health. */
async function openRouteService(grpc: GrpcConfig, parts: Parts) {
  const { tokens } = grpc;
  const { config, closing, logger, readiness, metrics } = parts;
  const { now = Date.now, newId = newRouteId, checkMs, checkLimitMs } = parts;
  const { authenticator, keySet } = openTokenKeys(tokens, parts);
  const store = await openStore(grpc, parts, () => monitor.well === false);
  const registry = new Registry({ store, now, newId });

  const cache = new MessageCache(config.routeCacheBytes);
  metrics?.addCaches({ routes: () => cache.figures, tokens: () => authenticator.remembered });
  // Health and reflection name their services.
  const methods = routeService(registry, cache, tokens.scopes);
  const health = new Health(serviceNamesOf(methods));

  let hasKeys = keySet === undefined;
  const updateHealth = (): void => {
    health.setServing(monitor.well === true && hasKeys && !readiness.draining);
  };

  const monitor = new Monitor({
    name: 'the store',
    check: () => store.ping(),
    onChange: updateHealth,
    log: logger,
    intervalMs: checkMs,
    limitMs: checkLimitMs,
  });
  await monitor.start();
  readiness.watch('database', monitor);

  void keySet?.ready.then(() => {
    hasKeys = true;
    // For good: where the keys are lost later, calls fail, but no other instance could do better.
    readiness.pass('keys', 'fetched');
    updateHealth();
    metrics?.addKeySet(() => keySet.ageMs);
  });

  closing.announce('not serving', () => {
    monitor.stop();
    health.setServing(false);
  });
  return { methods: [...methods, ...health.methods()], authenticator, health };
}

/**
 * Connects to the database and ensures its schema.
 *
 * @param isAway whether readiness says that the database is away
 * @throws Error when the database cannot be used, or its schema is out of date
 */
async function openStore(
  { database, duplicateRoutes: duplicates }: GrpcConfig,
  parts: Parts,
  isAway: () => boolean,
): Promise<KnexRouteStore> {
  const { config, closing, logger, stop, readiness, metrics, tracing } = parts;
  const { deadlineMs } = config.limits;
  // A silent connection is given up when every call that waits for it has ended, and the database has given up any lock.
  const silenceMs = Math.max(deadlineMs, SHORTEST_SILENCE_MS);
  const knex = openForCalls(database, { deadlineMs, silenceMs });
  closing.resource('database', () => closeDatabase(knex));
  await reachOrExplain(knex, { waitMs: config.databaseWaitMs, stop, log: logger.info.bind(logger) });
  const version = await useOrExplain(async () => {
    const ensured = await ensureSchema(knex);
    if (duplicates === 'reject') await countOrWarn(knex, logger);
    return ensured;
  });
  readiness.pass('schema', `version ${version}`);
  metrics?.addSchemaVersion(version);
  metrics?.addPool(() => poolFigures(knex));
  const observers = [metrics?.measureStatements(), tracing?.statements(database)].filter(
    (observer) => observer !== undefined,
  );
  return new KnexRouteStore(knex, { duplicates, observers, isAway });
}

/**
 * Starts the gateway. It calls the configured gRPC server or, if none is configured, the pipeline.
 *
 * @param pipeline the pipeline of the gRPC server in this process; undefined if there is none
 * @returns the base URL of all REST paths
 * @throws Error when it cannot listen on the address
 */
async function startRest(config: HttpConfig, pipeline: Pipeline | undefined, parts: Parts): Promise<string> {
  const { closing, logger, callLog, readiness, metrics, tracing, tls, checkMs, checkLimitMs } = parts;
  const { limits, ops, replyCacheBytes } = parts.config;
  const { host, port, basePath, corsOrigins, docs } = config;
  const scheme = tls === undefined ? 'http' : 'https';
  const upstream = await openUpstream(config, pipeline, parts);
  const gateway = createGateway({
    descriptorSet,
    upstream,
    basePath,
    deadlineMs: limits.deadlineMs,
    maxBodyBytes: limits.maxMessageBytes,
    maxRequests: limits.maxCalls,
    replyCacheBytes,
    realm: REALM,
    corsOrigins,
    pages: docs ? createDocuments() : [],
    log: logger.child({ protocol: 'rest' }),
    mayLog: (kind) => callLog.mayWrite(kind),
    answeredLevel: callLog.successLevel,
    observers: [metrics?.measureRequests(), tracing?.requests(scheme)].filter(
      (observer) => observer !== undefined,
    ),
  });
  metrics?.addCaches({ replies: () => gateway.replyCache });

  // A gateway that calls the pipeline in its own process shares the health of the gRPC server there.
  if (pipeline === undefined || config.upstream !== undefined) {
    const monitor = new Monitor({
      name: 'the gRPC server',
      check: () => requireServing(upstream),
      log: logger,
      intervalMs: checkMs,
      limitMs: checkLimitMs,
    });
    readiness.watch('upstream', monitor);
    // Only operators need the monitor: each `GET /healthz` calls the gRPC server.
    if (ops !== undefined) void monitor.start();
    closing.announce('not serving', () => {
      monitor.stop();
      gateway.drain();
    });
  }

  const server = new HttpServer(gateway, limits, tls);
  const address = await listenOrExplain('HTTP_ADDRESS', joinAddress(host, port), async (_, realHost) =>
    joinAddress(realHost, await server.listen(realHost, port)),
  );
  closing.server('HTTP server', () => server.close(GRACE_MS));
  return `${scheme}://${address}${basePath}`;
}

/** Opens a channel to the configured gRPC server or, if there is none, calls the pipeline in this process directly. */
async function openUpstream(
  { upstream: target, upstreamTls }: Pick<HttpConfig, 'upstream' | 'upstreamTls'>,
  pipeline: Pipeline | undefined,
  parts: Parts,
): Promise<Upstream> {
  if (target === undefined && pipeline !== undefined) return memoryUpstream(pipeline);
  if (target === undefined) throw new Error('The gateway has no gRPC server to call.');
  const { config, closing, metrics, tracing } = parts;
  const tlsSettings = 'GRPC_UPSTREAM_CA_FILE, GRPC_UPSTREAM_CERT_FILE or GRPC_UPSTREAM_KEY_FILE';
  const tls = upstreamTls && (await followTls(tlsSettings, upstreamTls, parts));
  const channel = openChannel(target, tls, config.limits);
  metrics?.addCallsLeftRunning(() => channel.leftRunning);
  closing.resource('channel to the gRPC server', () => {
    channel.close();
  });
  const upstream = onWallClock(channel);
  return tracing?.upstream(upstream, target) ?? upstream;
}

/**
 * Follows TLS files, which may change at any time, until the service closes.
 *
 * @param settings the names of the settings for these files
 * @throws Error that names the settings and the file, when a file cannot be read or used
 */
function followTls(
  settings: string,
  files: TlsFiles,
  { closing, logger, fileCheckMs }: Pick<Parts, 'closing' | 'logger' | 'fileCheckMs'>,
): Promise<FollowedTls> {
  return openOrExplain(`The files of ${settings} cannot be used`, () => {
    const tls = new FollowedTls(files, logger, fileCheckMs);
    closing.resource('TLS files', () => {
      tls.close();
    });
    return tls;
  });
}

/** Starts tracing, which ends at shutdown. Imports OpenTelemetry only here, since loading it takes time and memory. */
async function openTracing({ closing, logger }: Pick<Parts, 'closing' | 'logger'>): Promise<Tracing> {
  const loaded = await import('./observability/tracing/tracing.js');
  const tracing = loaded.openTracing(logger, serviceVersion());
  closing.resource('span queue', () => tracing.close());
  return tracing;
}

/** The version of the service, from its package, whose relative path is the same from `src/` and from `dist/`. */
function serviceVersion(): string {
  const file = new URL('../package.json', import.meta.url);
  const { version } = JSON.parse(readFileSync(file, 'utf8')) as { readonly version: string };
  return version;
}
