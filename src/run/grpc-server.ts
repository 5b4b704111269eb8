import { Admission, createInterceptors, createPipeline, type Pipeline } from '../calls/pipeline.js';
import { AnswerCache } from '../calls/service.js';
import { logging, namingCaller } from '../calls/call-log.js';
import type { Interceptor } from '../calls/call.js';
import { Health } from '../grpc/health.js';
import { routeService } from '../routes/route-service.js';
import { ROUTE_SERVICE, startGrpcServer, STREAMING_PATHS } from '../grpc/server.js';
import { Monitor } from '../watch/monitor.js';
import { GRACE_MS } from './closing.js';
import { listenOrExplain } from './open-or-explain.js';
import { newRouteId, Registry } from '../registry/registry.js';
import type { GrpcConfig } from '../settings/config.js';
import { enabled } from './enabled.js';
import type { SharedParts } from './shared-parts.js';
import { openRouteStore } from './route-store.js';
import { openTokenAuthenticator } from './token-authenticator.js';

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
export async function startGrpc(
  { address, database, tokens, duplicateRoutes, reflection }: GrpcConfig,
  parts: SharedParts,
): Promise<RunningGrpc> {
  const { config, closing, logger, callLog, tls, tracing, stop } = parts;
  const { now = Date.now, newId = newRouteId, checkMs, checkLimitMs, fileCheckMs } = parts;
  const { readiness, metrics } = parts.operations;
  const { limits, databaseWaitMs, routeCacheBytes } = config;
  const authenticator = await openTokenAuthenticator(tokens, { closing, logger, now, fileCheckMs });

  const observers = enabled(metrics?.statements(), tracing?.statements(database));
  const { store, schemaVersion, pool } = await openRouteStore(
    { database, silenceMs: limits.deadlineMs, waitMs: databaseWaitMs },
    { closing, logger, stop, observers },
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

  const cache = new AnswerCache(routeCacheBytes);
  const methods = [...routeService(registry, cache), ...health.methods()];
  const admission = new Admission(limits);
  const steps = { ...limits, authenticator, admission, log: callLog };
  metrics?.schemaVersion(schemaVersion);
  metrics?.pool(pool);
  metrics?.caches({ routes: () => cache.figures, tokens: () => authenticator.remembered });
  const measured = metrics?.calls({ unary: methods.map(({ path }) => path), ...STREAMING_PATHS });
  const pipelineObservedBy = (...observers: (Interceptor | undefined)[]): Pipeline =>
    createPipeline(methods, createInterceptors({ ...steps, observers: enabled(...observers) }));
  const pipeline = pipelineObservedBy(tracing?.calls, measured?.interceptor, logging(callLog));
  // The gateway measures and logs its own requests, for which it needs only the caller from this pipeline.
  const pipelineOfGateway = pipelineObservedBy(tracing?.calls, namingCaller);
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
