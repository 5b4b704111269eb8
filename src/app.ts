import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Logger } from 'pino';
import { v7 as uuidV7 } from 'uuid';
import { createAuthenticator, type VerificationKey } from './auth/authenticator.js';
import { rememberTokens } from './auth/token-cache.js';
import type { Config, GrpcConfig, HttpConfig, TokenKey } from './config.js';
import { channelUpstream } from './gateway/channel-upstream.js';
import { createGateway } from './gateway/gateway.js';
import type { Upstream } from './gateway/upstream.js';
import { comments } from './gen/comments.js';
import { descriptorSet } from './gen/descriptor-set.js';
import { CODES } from './grpc/failures.js';
import { Health } from './grpc/health.js';
import { followStore } from './grpc/health-monitor.js';
import { createInterceptors } from './grpc/interceptors.js';
import { createPipeline, type Pipeline } from './grpc/pipeline.js';
import { routeService } from './grpc/route-service.js';
import { ROUTE_SERVICE, startGrpcServer } from './grpc/server.js';
import { localSecret } from './local-secret.js';
import { createDocuments } from './openapi/documents.js';
import { Registry } from './registry/registry.js';
import { openDatabase } from './store/database.js';
import { KnexRouteStore } from './store/knex-route-store.js';
import { ensureSchema } from './store/schema.js';

/** How long calls under way may take to end when the process stops, in milliseconds. */
const GRACE_MS = 8_000;
/** The protection space that a challenge names (RFC 9110, section 11.5). */
const REALM = 'route-registry';

/** What the service does not choose for itself. */
export interface Surroundings {
  readonly logger: Logger;
  /** Milliseconds since the epoch; default: the system's clock. */
  readonly now?: () => number;
  /** A new UUIDv7 of the given time; default: a random one. */
  readonly newId?: (nowMs: number) => string;
}

type Closer = () => Promise<void> | void;

/** The running service. */
export interface App {
  /** Where the gRPC server listens, with its real port; absent when it does not run. */
  readonly grpcAddress: string | undefined;
  /** The base of all REST paths; absent when the gateway does not run. */
  readonly httpUrl: string | undefined;
  /** Takes nothing new, answers what is under way and closes everything in the reverse order of its opening. */
  close(): Promise<void>;
}

/**
 * Joins the rooms to a running service.
 *
 * @throws Error when something can not be opened; what was opened before is closed again
 */
export async function startApp(config: Config, surroundings: Surroundings): Promise<App> {
  const opened: Closer[] = [];
  const close = async (): Promise<void> => {
    for (let closeNext = opened.pop(); closeNext !== undefined; closeNext = opened.pop()) await closeNext();
  };
  try {
    const grpc = config.grpc && (await startGrpc(config.grpc, config, surroundings, opened));
    const httpUrl =
      config.http && (await startHttp(config.http, grpc?.pipeline, config, surroundings, opened));
    return { grpcAddress: grpc?.address, httpUrl, close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function startGrpc(
  { address, database, tokens, duplicateRoutes, reflection }: GrpcConfig,
  { deadlineMs, routeCacheBytes }: Config,
  { logger, now = Date.now, newId = (msecs) => uuidV7({ msecs }) }: Surroundings,
  opened: Closer[],
): Promise<{ address: string; pipeline: Pipeline }> {
  const { key, issuer, audience } = tokens;
  const verify = createAuthenticator({ key: verificationKey(key), issuer, audience, now });
  const authenticator = rememberTokens(verify, now);

  const knex = openDatabase(database);
  opened.push(() => knex.destroy());
  await ensureSchema(knex, database);
  const store = new KnexRouteStore(knex);
  const registry = new Registry({ store, duplicates: duplicateRoutes, now, newId });

  const health = new Health([ROUTE_SERVICE]);
  const stopFollowing = await followStore(health, () => store.ping(), logger);
  opened.push(stopFollowing);

  const methods = [...routeService(registry, routeCacheBytes), ...health.methods()];
  const pipeline = createPipeline(methods, createInterceptors({ authenticator, deadlineMs, now, logger }));
  const server = await startGrpcServer({ address, methods, pipeline, health, reflection });
  opened.push(() => server.close(GRACE_MS));
  return { address: server.address, pipeline };
}

async function startHttp(
  { host, port, basePath, upstream: target, docs }: HttpConfig,
  pipeline: Pipeline | undefined,
  { deadlineMs, routeCacheBytes }: Config,
  { logger }: Surroundings,
  opened: Closer[],
): Promise<string> {
  const upstream = openUpstream(target, pipeline, opened);
  const gateway = createGateway({
    descriptorSet,
    upstream,
    basePath,
    deadlineMs,
    cacheBytes: routeCacheBytes,
    realm: REALM,
    pages: docs ? createDocuments({ descriptorSet, comments, codes: CODES, basePath, realm: REALM }) : [],
    log: logger,
  });
  const server = createServer(gateway.onRequest)
    .on('clientError', gateway.onClientError)
    // Node would answer an expectation that it does not know by itself; RFC 9110 lets a server ignore it.
    .on('checkExpectation', gateway.onRequest);
  const address = await listen(server, host, port);
  opened.push(() => closeHttp(server));
  return `http://${host.includes(':') ? `[${host}]` : host}:${address.port}${basePath}`;
}

/** The gRPC server that the settings name, else the one of this process, called without a socket. */
function openUpstream(
  target: string | undefined,
  pipeline: Pipeline | undefined,
  opened: Closer[],
): Upstream {
  if (target === undefined && pipeline !== undefined) return { unary: pipeline };
  if (target === undefined) throw new Error('The gateway has no gRPC server to call.');
  const channel = channelUpstream(target);
  opened.push(() => {
    channel.close();
  });
  return channel;
}

function verificationKey(key: TokenKey): VerificationKey {
  return key.kind === 'local' ? { kind: 'secret', secret: localSecret(key.file) } : key;
}

function listen(server: Server, host: string, port: number): Promise<AddressInfo> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.removeListener('error', reject);
      resolve(server.address() as AddressInfo);
    });
  });
}

function closeHttp(server: Server): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => {
      server.closeAllConnections();
    }, GRACE_MS);
    server.close(() => {
      clearTimeout(timer);
      resolve();
    });
  });
}
