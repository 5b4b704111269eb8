import { performance } from 'node:perf_hooks';
import { Admission } from '../calls/admission.js';
import { ByteCache } from '../calls/byte-cache.js';
import { createInterceptors, type Face } from '../calls/interceptors.js';
import { createPipeline, type Interceptor, type Pipeline } from '../calls/pipeline.js';
import { Health } from '../grpc/health.js';
import { routeService } from '../routes/route-service.js';
import { ROUTE_SERVICE, startGrpcServer, STREAMING_PATHS } from '../grpc/server.js';
import { Monitor } from '../watch/monitor.js';
import { WorkObserver } from '../watch/work-observer.js';
import { GRACE_MS } from './closing.js';
import { listenOrExplain } from './open-or-explain.js';
import { Registry } from '../registry/registry.js';
import { newRouteId } from '../registry/route-id.js';
import type { GrpcConfig } from '../settings/config.js';
import { enabled } from './enabled.js';
import type { SharedParts } from './shared-parts.js';
import { openRouteStore } from './route-store.js';
import { openTokenAuthenticator } from './token-authenticator.js';

/** The gRPC face, as seen by the REST face. */
interface GrpcFace {
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
export async function startGrpcFace(
  { address, database, replicas, tokens, duplicateRoutes, reflection }: GrpcConfig,
  parts: SharedParts,
): Promise<GrpcFace> {
  const { config, closing, logger, callLog, tls, tracing, stop } = parts;
  const { now = Date.now, newId = newRouteId, checkMs, checkLimitMs } = parts;
  const { readiness, metrics } = parts.operations;
  const { limits, databaseWaitMs, routeCacheBytes } = config;
  const authenticator = await openTokenAuthenticator(tokens, { closing, logger, now });

  const work = new WorkObserver();
  const observers = enabled(work, metrics?.statements(), tracing?.statements(database));
  const { store, schemaVersion, pools } = await openRouteStore(
    { database, replicas, silenceMs: limits.deadlineMs, waitMs: databaseWaitMs },
    { closing, logger, stop, observers, checkMs, checkLimitMs },
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
    intervalMs: checkMs,
    limitMs: checkLimitMs,
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
  const clock = (): number => performance.now();
  const steps = { ...limits, authenticator, admission, now: clock, log: callLog };
  metrics?.schemaVersion(schemaVersion);
  metrics?.pools(pools);
  metrics?.caches({ routes: () => cache, tokens: () => authenticator.remembered });
  const measured = metrics?.calls({ unary: methods.map(({ path }) => path), ...STREAMING_PATHS });
  const pipelineFor = (face: Face, ...observers: (Interceptor | undefined)[]): Pipeline =>
    createPipeline(methods, createInterceptors({ ...steps, observers: enabled(...observers) }, face));
  const pipeline = pipelineFor('grpc', tracing?.calls, measured?.interceptor);
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
        if (callLog.mayWrite('strangers'))
          logger.warn({ reason }, 'a gRPC connection was ended with an error');
      },
    }),
  );
  closing.server('gRPC server', () => server.close(GRACE_MS));
  return { address: server.address, pipeline: pipelineFor('gateway', tracing?.calls) };
}
