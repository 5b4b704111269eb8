import { readFileSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import { type ChannelCredentials, credentials } from '@grpc/grpc-js';
import type { Upstream } from '@route-registry/transcoder';
import { grpcUpstream, tlsOptions } from '@route-registry/transcoder/grpc-js';
import type { Logger } from 'pino';
import {
  createAuthenticator,
  type RememberingAuthenticator,
  rememberTokens,
  type VerificationKey,
} from './auth/authenticator.js';
import { CallLog, logCalls, nameCaller } from './calls/call-log.js';
import type { Interceptor } from './calls/call.js';
import { Admission, createPipeline, type Pipeline } from './calls/pipeline.js';
import { MessageCache } from './calls/service.js';
import { FollowedTls } from './edge/tls.js';
import { HttpServer } from './gateway/http-server.js';
import { FollowedFiles } from './files/followed-files.js';
import { createGateway } from './gateway/gateway.js';
import { requireServing } from './gateway/healthz.js';
import { memoryUpstream, onWallClock } from './gateway/upstream.js';
import { descriptorSet } from './gen/descriptor-set.js';
import { Health } from './grpc/health.js';
import { ROUTE_SERVICE, startGrpcServer, STREAMING_PATHS } from './grpc/server.js';
import { createDocuments } from './openapi/documents.js';
import { newRouteId, Registry } from './registry/registry.js';
import { REALM, routeService } from './routes/route-service.js';
import { Closing, GRACE_MS } from './run/closing.js';
import { listenOrExplain, openOrExplain } from './run/start.js';
import type { Config, GrpcConfig, HttpConfig, Limits, TlsFiles } from './settings/config.js';
import { joinAddress } from './settings/reader.js';
import { localSecret, secretsIn, type TokenConfig } from './settings/tokens.js';
import {
  closeDatabase,
  type DatabaseLocation,
  openDatabase,
  type PoolFigures,
  poolFigures,
  reachDatabase,
} from './store/database.js';
import { KnexRouteStore } from './store/knex-route-store.js';
import { ensureSchema } from './store/migrations.js';
import type { StatementObserver } from './store/statements.js';
import type { Metrics } from './watch/metrics/metrics.js';
import { Monitor } from './watch/monitor.js';
import { Readiness, startOpsServer } from './watch/ops-server.js';
import type { Tracing } from './watch/tracing/tracing.js';

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

/**
 * Opens the parts of the service and connects them.
 *
 * @throws Error when a part cannot be opened; everything opened before it is closed again
 */
export async function startApp(config: Config, dependencies: Dependencies): Promise<App> {
  const { logger } = dependencies;
  const closing = new Closing();
  const callLog = new CallLog(logger, config.accessLog);
  const opened = { ...dependencies, config, closing, callLog };
  try {
    const operations = await openOperations(config, opened);
    const tracing = config.traces ? await startTracing(opened) : undefined;
    const tls =
      config.tls &&
      (await followTls('TLS_CERT_FILE, TLS_KEY_FILE or TLS_CLIENT_CA_FILE', config.tls, opened));
    const parts: SharedParts = { ...opened, operations, tls, tracing };
    const grpc = config.grpc && (await startGrpc(config.grpc, parts));
    const httpUrl = config.http && (await startRest(config.http, grpc?.pipeline, parts));
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

/** The dependencies that are injected into the service. */
export interface Dependencies {
  readonly logger: Logger;
  /** Milliseconds since the epoch; default: the system's clock. */
  readonly now?: () => number;
  /** Generates a UUIDv7 for the given time; default: a random one. */
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

/** The parts that the gRPC server and the REST gateway share. */
interface SharedParts extends Dependencies {
  readonly config: Config;
  readonly closing: Closing;
  readonly callLog: CallLog;
  readonly operations: Operations;
  /** The certificate of the gRPC and HTTP servers; absent without TLS. */
  readonly tls: FollowedTls | undefined;
  /** Absent when tracing is off. */
  readonly tracing: Tracing | undefined;
}

/** The operators' view of a process. */
interface Operations {
  readonly readiness: Readiness;
  /** Absent when metrics are off. */
  readonly metrics: Metrics | undefined;
  /** The base URL of its pages; absent without a listener. */
  readonly url: string | undefined;
}

/**
 * Opens the operators' listener, which must open before the rest of the service, so that it closes last. If
 * `OPS_ADDRESS` is `off`, there is no listener and nothing is measured.
 *
 * @throws Error when it cannot listen
 */
async function openOperations(
  { ops, grpc, http }: Config,
  { closing, callLog }: { readonly closing: Closing; readonly callLog: CallLog },
): Promise<Operations> {
  const readiness = new Readiness([
    ...(grpc === undefined ? [] : ['database', 'schema']),
    ...(http?.upstream === undefined ? [] : ['upstream']),
  ]);
  if (ops === undefined) return { readiness, metrics: undefined, url: undefined };
  // Loaded only when metrics are on.
  const loaded = await import('./watch/metrics/metrics.js');
  const metrics = new loaded.Metrics();
  const role = grpc === undefined ? 'gateway' : http === undefined ? 'grpc' : 'all';
  metrics.buildInfo({ version: serviceVersion(), role });
  metrics.readiness(readiness);
  metrics.linesLeftOut(callLog.leftOut);
  const { host, port } = ops;
  const server = await listenOrExplain('OPS_ADDRESS', joinAddress(host, port), () =>
    startOpsServer(host, port, { readiness: () => readiness.report, metrics }),
  );
  closing.resource('listener for operators', () => server.close());
  return { readiness, metrics, url: `http://${joinAddress(host, server.port)}` };
}

/** What the gateway needs from the running gRPC server. */
interface RunningGrpc {
  /** The address of the server, with its actual port. */
  readonly address: string;
  /** For the gateway in the same process, which logs its own calls. */
  readonly pipeline: Pipeline;
}

/**
 * Opens the store, creates the pipeline and starts the gRPC server.
 *
 * @throws Error when one of them cannot be opened
 */
async function startGrpc(
  { address, database, tokens, duplicateRoutes, reflection }: GrpcConfig,
  parts: SharedParts,
): Promise<RunningGrpc> {
  const { config, closing, logger, callLog, tls, tracing } = parts;
  const { now = Date.now, newId = newRouteId, checkMs, checkLimitMs, fileCheckMs } = parts;
  const { readiness, metrics } = parts.operations;
  const { limits, databaseWaitMs, routeCacheBytes } = config;
  const authenticator = await openAuthenticator(tokens, { closing, logger, now, fileCheckMs });

  const observers = enabled(metrics?.statements(), tracing?.statements(database));
  const { store, schemaVersion, pool } = await openStore(
    { database, silenceMs: limits.deadlineMs, waitMs: databaseWaitMs },
    observers,
    parts,
  );
  readiness.pass('schema', `version ${schemaVersion}`);
  const registry = new Registry({ store, duplicates: duplicateRoutes, now, newId });

  const health = new Health([ROUTE_SERVICE]);
  const monitor = new Monitor({
    name: 'the store',
    check: () => store.ping(),
    onChange: (well) => {
      health.setServing(well);
    },
    log: logger,
    intervalMs: checkMs,
    limitMs: checkLimitMs,
  });
  await monitor.start();
  readiness.watch('database', monitor);
  closing.announce('not serving', () => {
    monitor.stop();
    health.setServing(false);
  });

  const cache = new MessageCache(routeCacheBytes);
  const methods = [...routeService(registry, cache), ...health.methods()];
  const admission = new Admission(limits);
  const steps = { ...limits, authenticator, admission, log: callLog };
  metrics?.schemaVersion(schemaVersion);
  metrics?.pool(pool);
  metrics?.caches({ routes: () => cache.figures, tokens: () => authenticator.remembered });
  const measured = metrics?.calls({ unary: methods.map(({ path }) => path), ...STREAMING_PATHS });
  const pipelineObservedBy = (...observers: (Interceptor | undefined)[]): Pipeline =>
    createPipeline(methods, { ...steps, observers: enabled(...observers) });
  const pipeline = pipelineObservedBy(tracing?.calls, measured?.interceptor, logCalls(callLog));
  // The gateway measures and logs its own requests, for which it needs only the caller from this pipeline.
  const pipelineOfGateway = pipelineObservedBy(tracing?.calls, nameCaller);
  const observeStreaming = measured?.beginStreaming;
  const server = await listenOrExplain('GRPC_ADDRESS', address, () =>
    startGrpcServer({
      address,
      methods,
      pipeline,
      health,
      reflection,
      limits,
      tls,
      observeStreaming,
      onConnectionError: (reason) => {
        if (callLog.mayWrite('unauthenticated'))
          logger.warn({ reason }, 'a gRPC connection was closed because of an error');
      },
    }),
  );
  closing.server('gRPC server', () => server.close(GRACE_MS));
  return { address: server.address, pipeline: pipelineOfGateway };
}

/** The configuration of this process's store. */
interface RouteStoreConfig {
  readonly database: DatabaseLocation;
  /** How long a database server may stay silent, in milliseconds: as long as a call may take. */
  readonly silenceMs: number;
  /** How long the start waits for an unreachable database, in milliseconds. */
  readonly waitMs: number;
}

/** The store, with its figures for operators. */
interface OpenedRouteStore {
  readonly store: KnexRouteStore;
  /** The number of its migrations. */
  readonly schemaVersion: number;
  /** The current use of its connections. */
  readonly pool: () => PoolFigures;
}

/**
 * Connects to the configured database, ensures its schema and opens the store.
 *
 * @throws Error when the database cannot be reached, or its schema is out of date
 */
async function openStore(
  { database, silenceMs, waitMs }: RouteStoreConfig,
  observers: readonly StatementObserver[],
  { closing, logger, stop }: Pick<SharedParts, 'closing' | 'logger' | 'stop'>,
): Promise<OpenedRouteStore> {
  const knex = openDatabase(database, silenceMs);
  closing.resource('database', () => closeDatabase(knex, database));
  await openOrExplain('The database named by DATABASE_URL cannot be reached', () =>
    reachDatabase(knex, { waitMs, stop, log: logger.info.bind(logger) }),
  );
  const schemaVersion = await ensureSchema(knex, database);
  return { store: new KnexRouteStore(knex, observers), schemaVersion, pool: () => poolFigures(knex) };
}

/** The parts of the process that the authenticator uses. */
interface TokenDependencies {
  readonly closing: Closing;
  readonly logger: Logger;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** How often a key file is reread, in milliseconds; default: 10,000. */
  readonly fileCheckMs?: number | undefined;
}

/**
 * Creates the authenticator for the configured tokens, which caches verified tokens. When a key file changes, a new
 * authenticator with an empty cache replaces it.
 *
 * @throws Error when the key cannot be used
 */
export async function openAuthenticator(
  { key, issuer, audience }: TokenConfig,
  { closing, logger, now, fileCheckMs }: TokenDependencies,
): Promise<RememberingAuthenticator> {
  const onProblem = (err: Error): void => {
    logger.warn({ err }, 'the key set cannot be refreshed: its keys stay in use until it is an hour old');
  };
  const open = (verificationKey: VerificationKey): RememberingAuthenticator =>
    rememberTokens(createAuthenticator({ key: verificationKey, issuer, audience, now, onProblem }), now);
  const follow = async (
    file: string,
    keyIn: (content: Buffer) => VerificationKey,
  ): Promise<RememberingAuthenticator> => {
    const followed = await FollowedFiles.open({
      files: [file],
      read: ([content = Buffer.alloc(0)]) => open(keyIn(content)),
      onProblem: ({ message }) => {
        logger.warn({ file, problem: message }, 'the key file cannot be used: the previous keys stay in use');
      },
      intervalMs: fileCheckMs,
    });
    followed.onChange(() => {
      logger.info({ file }, 'the token keys have changed');
    });
    closing.resource('file of keys', () => {
      followed.close();
    });
    return {
      authenticate: (authorization) => followed.value.authenticate(authorization),
      get remembered() {
        return followed.value.remembered;
      },
    };
  };
  switch (key.kind) {
    case 'local':
      return open({ kind: 'secrets', secrets: [localSecret(key.file)] });
    case 'secret':
      return open({ kind: 'secrets', secrets: [key.secret] });
    case 'secretFile':
      return follow(key.file, (content) => ({ kind: 'secrets', secrets: secretsIn(content) }));
    case 'publicKeyFile':
      return follow(key.file, (content) => ({ kind: 'publicKey', pem: content.toString() }));
    case 'jwks':
      return open(key);
  }
}

/**
 * Starts the gateway. It calls the configured gRPC server or, without one, the pipeline.
 *
 * @param pipeline the pipeline of the gRPC server in this process; undefined if there is none
 * @returns the base URL of all REST paths
 * @throws Error when it cannot listen on the address
 */
async function startRest(
  { host, port, basePath, upstream: target, upstreamTls, docs, corsOrigins }: HttpConfig,
  pipeline: Pipeline | undefined,
  parts: SharedParts,
): Promise<string> {
  const { config, closing, logger, callLog, tls, tracing, checkMs, checkLimitMs } = parts;
  const { readiness, metrics } = parts.operations;
  const { limits, replyCacheBytes } = config;
  const scheme = tls === undefined ? 'http' : 'https';
  const upstream = await openUpstream(target, upstreamTls, pipeline, parts);
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
    pages: docs ? createDocuments(basePath) : [],
    log: logger.child({ protocol: 'rest' }),
    mayLog: (kind) => callLog.mayWrite(kind),
    answeredLevel: callLog.successLevel,
    observers: enabled(metrics?.requests(), tracing?.requests(scheme)),
  });
  metrics?.caches({ replies: () => gateway.replyCache });
  // A gateway that calls the pipeline in its own process shares the health of the gRPC server there.
  if (pipeline === undefined || target !== undefined) {
    const monitor = new Monitor({
      name: 'the gRPC server',
      check: () => requireServing(upstream),
      log: logger,
      intervalMs: checkMs,
      limitMs: checkLimitMs,
    });
    readiness.watch('upstream', monitor);
    // Only operators need the monitor: each `GET /healthz` calls the gRPC server.
    if (config.ops !== undefined) void monitor.start();
    closing.announce('not serving', () => {
      monitor.stop();
      gateway.drain();
    });
  }
  const server = new HttpServer(gateway, limits, tls);
  const address = joinAddress(host, port);
  const realPort = await listenOrExplain('HTTP_ADDRESS', address, () => server.listen(host, port));
  closing.server('HTTP server', () => server.close(GRACE_MS));
  return `${scheme}://${joinAddress(host, realPort)}${basePath}`;
}

/** The parts of the process that an upstream uses. */
interface UpstreamDependencies {
  readonly closing: Closing;
  readonly logger: Logger;
  /** Absent when tracing is off. */
  readonly tracing: Tracing | undefined;
  readonly operations: Pick<Operations, 'metrics'>;
  readonly config: { readonly limits: Pick<Limits, 'maxWaitingCalls'> };
  /** How often the TLS files are reread, in milliseconds; default: 10,000. */
  readonly fileCheckMs?: number;
}

const CHANNEL_OPTIONS = {
  // Far larger than any response, which is hardly larger than its request.
  'grpc.max_receive_message_length': 256 * 1024,
  // Drops the connection to a silent server after 15 seconds, even without calls: this service allows such pings.
  'grpc.keepalive_time_ms': 10_000,
  'grpc.keepalive_timeout_ms': 5_000,
  'grpc.keepalive_permit_without_calls': 1,
};

/** Opens a channel to the configured gRPC server or, if there is none, calls the pipeline in this process directly. */
export async function openUpstream(
  target: string | undefined,
  tlsFiles: TlsFiles | undefined,
  pipeline: Pipeline | undefined,
  dependencies: UpstreamDependencies,
): Promise<Upstream> {
  if (target === undefined && pipeline !== undefined) return memoryUpstream(pipeline);
  if (target === undefined) throw new Error('The gateway has no gRPC server to call.');
  const tls =
    tlsFiles &&
    (await followTls(
      'GRPC_UPSTREAM_CA_FILE, GRPC_UPSTREAM_CERT_FILE or GRPC_UPSTREAM_KEY_FILE',
      tlsFiles,
      dependencies,
    ));
  const { verifyOptions, channelOptions } = tlsOptions(target);
  const identity = (): ChannelCredentials =>
    tls === undefined
      ? credentials.createInsecure()
      : credentials.createFromSecureContext(createSecureContext(tls.latest), verifyOptions);
  const channel = grpcUpstream(target, {
    credentials: identity(),
    // As many as the server lets wait: here nobody knows which calls wait.
    maxCallsOfCaller: Math.floor(dependencies.config.limits.maxWaitingCalls / 2),
    channelOptions: { ...CHANNEL_OPTIONS, ...channelOptions },
  });
  dependencies.operations.metrics?.callsLeftRunning(() => channel.leftRunning);
  tls?.onRenewed(() => {
    channel.renew(identity());
  });
  dependencies.closing.resource('channel to the gRPC server', () => {
    channel.close();
  });
  const upstream = onWallClock(channel);
  return dependencies.tracing?.upstream(upstream, target) ?? upstream;
}

/**
 * Follows TLS files, which may change at any time, until the service closes.
 *
 * @param settings the names of the settings for these files
 * @throws Error that names the settings and the file, when a file cannot be read or used
 */
async function followTls(
  settings: string,
  files: TlsFiles,
  { closing, logger, fileCheckMs }: Pick<SharedParts, 'closing' | 'logger' | 'fileCheckMs'>,
): Promise<FollowedTls> {
  const tls = await openOrExplain(`The files of ${settings} cannot be used`, () =>
    FollowedTls.open(files, logger, fileCheckMs),
  );
  closing.resource('TLS files', () => {
    tls.close();
  });
  return tls;
}

/** Starts tracing, which ends at shutdown. Imports OpenTelemetry only here, since loading it takes time and memory. */
async function startTracing({ closing, logger }: Pick<SharedParts, 'closing' | 'logger'>): Promise<Tracing> {
  const { openTracing } = await import('./watch/tracing/tracing.js');
  const tracing = openTracing(logger, serviceVersion());
  closing.resource('span queue', () => tracing.close());
  return tracing;
}

/** Filters out the observers that are turned off, which are undefined. */
function enabled<Observers extends readonly unknown[]>(
  ...observers: Observers
): Exclude<Observers[number], undefined>[] {
  return observers.filter((observer) => observer !== undefined) as Exclude<Observers[number], undefined>[];
}

/** The relative path is the same from `src/` and from `dist/`. */
const PACKAGE = new URL('../package.json', import.meta.url);

/** The version of the service, from its package. */
function serviceVersion(): string {
  const { version } = JSON.parse(readFileSync(PACKAGE, 'utf8')) as { readonly version: string };
  return version;
}
