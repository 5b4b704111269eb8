import type { Logger } from 'pino';
import { createAuthenticator, type VerificationKey } from './auth/authenticator.js';
import { rememberTokens } from './auth/token-cache.js';
import { Closing, GRACE_MS } from './process/closing.js';
import type { Config, GrpcConfig, HttpConfig, TokenKey } from './settings/config.js';
import { channelUpstream } from './gateway/channel-upstream.js';
import { createGateway } from './gateway/gateway.js';
import { memoryUpstream } from './gateway/memory-upstream.js';
import type { Upstream } from '@route-registry/transcoder';
import { descriptorSet } from './gen/descriptor-set.js';
import { Health } from './grpc/health.js';
import { followStore } from './grpc/health-monitor.js';
import { Admission } from './calls/admission.js';
import { CallLog } from './calls/call-log.js';
import { createInterceptors } from './calls/interceptors.js';
import { createPipeline, type Pipeline } from './calls/pipeline.js';
import { REALM, routeService } from './grpc/route-service.js';
import { ROUTE_SERVICE, startGrpcServer } from './grpc/server.js';
import { closeHttpServer, startHttpServer } from './process/http-server.js';
import { localSecret } from './settings/local-secret.js';
import { createDocuments } from './openapi/documents.js';
import { opening } from './process/opening.js';
import { Registry } from './registry/registry.js';
import { newRouteId } from './registry/route-id.js';
import { closeDatabase, openDatabase, reachDatabase } from './store/database.js';
import { KnexRouteStore } from './store/knex-route-store.js';
import { ensureSchema } from './store/schema.js';

/** The dependencies that the service does not choose itself. */
export interface Surroundings {
  readonly logger: Logger;
  /** Milliseconds since the epoch; default: the system's clock. */
  readonly now?: () => number;
  /** Makes a UUIDv7 for the given time; default: a random one. */
  readonly newId?: (nowMs: number) => string;
}

/** The running service. */
export interface App {
  /** The address of the gRPC server, with its actual port; absent when it does not run. */
  readonly grpcAddress: string | undefined;
  /** The base of all REST paths; absent when the gateway does not run. */
  readonly httpUrl: string | undefined;
  /**
   * Accepts nothing new, answers the calls in progress and closes everything, the database last. Resolves
   * after at most eight seconds, with whether everything was closed in that time.
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
  const closing = new Closing();
  try {
    const grpc = config.grpc && (await startGrpc(config.grpc, config, surroundings, closing));
    const httpUrl =
      config.http && (await startHttp(config.http, grpc?.pipeline, config, surroundings, closing));
    return { grpcAddress: grpc?.address, httpUrl, close: () => closing.close() };
  } catch (error) {
    await closing.close().catch((err: unknown) => {
      surroundings.logger.error({ err }, 'not everything could be closed');
    });
    throw error;
  }
}

async function startGrpc(
  { address, database, tokens, duplicateRoutes, reflection }: GrpcConfig,
  { limits, routeCacheBytes }: Config,
  { logger, now = Date.now, newId = newRouteId }: Surroundings,
  closing: Closing,
): Promise<{ address: string; pipeline: Pipeline }> {
  const { key, issuer, audience } = tokens;
  const verify = createAuthenticator({ key: verificationKey(key), issuer, audience, now });
  const authenticator = rememberTokens(verify, now);

  const knex = openDatabase(database, limits.deadlineMs);
  closing.resource(() => closeDatabase(knex, database));
  await opening('The database named by DATABASE_URL cannot be reached', () => reachDatabase(knex));
  await ensureSchema(knex, database);
  const store = new KnexRouteStore(knex);
  const registry = new Registry({ store, duplicates: duplicateRoutes, now, newId });

  const health = new Health([ROUTE_SERVICE]);
  const stopFollowing = await followStore(health, () => store.ping(), logger);
  closing.server(stopFollowing);

  const methods = [...routeService(registry, routeCacheBytes), ...health.methods()];
  const admission = new Admission(limits);
  closing.resource(() => {
    admission.close();
  });
  const log = new CallLog(logger, limits.maxRefusalsLogged);
  const pipeline = createPipeline(
    methods,
    createInterceptors({ ...limits, authenticator, admission, now, log }),
  );
  const server = await opening(`Cannot listen on GRPC_ADDRESS=${address}`, () =>
    startGrpcServer({ address, methods, pipeline, health, reflection, limits }),
  );
  closing.server(() => server.close(GRACE_MS));
  return { address: server.address, pipeline };
}

async function startHttp(
  { host, port, basePath, upstream: target, docs }: HttpConfig,
  pipeline: Pipeline | undefined,
  { limits: { deadlineMs, maxMessageBytes } }: Config,
  { logger }: Surroundings,
  closing: Closing,
): Promise<string> {
  const upstream = openUpstream(target, pipeline, closing);
  const gateway = createGateway({
    descriptorSet,
    upstream,
    basePath,
    deadlineMs,
    maxBodyBytes: maxMessageBytes,
    realm: REALM,
    pages: docs ? createDocuments(basePath) : [],
    log: logger,
  });
  const writtenHost = host.includes(':') ? `[${host}]` : host;
  const { server, port: realPort } = await opening(
    `Cannot listen on HTTP_ADDRESS=${writtenHost}:${port}`,
    () => startHttpServer(gateway, host, port),
  );
  closing.server(() => closeHttpServer(server, GRACE_MS));
  return `http://${writtenHost}:${realPort}${basePath}`;
}

/** The gRPC server that the settings name, or else the one in this process, called without a socket. */
function openUpstream(
  target: string | undefined,
  pipeline: Pipeline | undefined,
  closing: Closing,
): Upstream {
  if (target === undefined && pipeline !== undefined) return memoryUpstream(pipeline);
  if (target === undefined) throw new Error('The gateway has no gRPC server to call.');
  const channel = channelUpstream(target);
  closing.resource(() => {
    channel.close();
  });
  return channel;
}

function verificationKey(key: TokenKey): VerificationKey {
  return key.kind === 'local' ? { kind: 'secret', secret: localSecret(key.file) } : key;
}
