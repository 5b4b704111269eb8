import type { Pipeline } from '../calls/pipeline.js';
import { createGateway } from '../gateway/gateway.js';
import { requireServing } from '../gateway/healthz.js';
import { descriptorSet } from '../gen/descriptor-set.js';
import { REALM } from '../routes/route-service.js';
import { createDocuments } from '../openapi/documents.js';
import { Monitor } from '../watch/monitor.js';
import { GRACE_MS } from './closing.js';
import { HttpServer } from '../edge/http-server.js';
import { listenOrExplain } from './open-or-explain.js';
import { joinAddress } from '../settings/reader.js';
import type { HttpConfig } from '../settings/config.js';
import { enabled } from './enabled.js';
import type { SharedParts } from './shared-parts.js';
import { openUpstream } from './upstream.js';

/**
 * Starts the gateway. It calls the configured gRPC server or, without one, the pipeline.
 *
 * @param pipeline the pipeline of the gRPC server in this process; undefined if there is none
 * @returns the base URL of all REST paths
 * @throws Error when it cannot listen on the address
 */
export async function startRestGateway(
  { host, port, basePath, upstream: target, upstreamTls, docs, corsOrigins }: HttpConfig,
  pipeline: Pipeline | undefined,
  parts: SharedParts,
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
    checkMs,
    checkLimitMs,
  } = parts;
  const scheme = tls === undefined ? 'http' : 'https';
  const upstream = await openUpstream(target, upstreamTls, pipeline, parts);
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
    log: logger.child({ protocol: 'rest' }),
    mayLog: (kind) => callLog.mayWrite(kind),
    answeredLevel: callLog.answeredLevel,
    observers: enabled(metrics?.requests(), tracing?.requests(scheme)),
  });
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
  const realPort = await listenOrExplain('HTTP_ADDRESS', joinAddress(host, port), () =>
    server.listen(host, port),
  );
  closing.server('HTTP server', () => server.close(GRACE_MS));
  return `${scheme}://${joinAddress(host, realPort)}${basePath}`;
}
