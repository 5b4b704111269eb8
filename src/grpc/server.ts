import { type handleBidiStreamingCall, type handleUnaryCall, type Server, status } from '@grpc/grpc-js';
import { RouteServiceDefinition } from '../gen/routing/v1/route_service.js';
import { completeFrameworkStatus } from './framework-status.js';
import type { Health } from './health.js';
import type { Method } from './method.js';
import type { Pipeline } from './pipeline.js';
import { addReflectionTo } from './reflection.js';
import { StrictServer, UNKNOWN_METHOD, UNKNOWN_PATH_KEY } from './strict-server.js';

/** The services that health and reflection tell of. */
export const HEALTH_SERVICE = 'grpc.health.v1.Health';
export const ROUTE_SERVICE = RouteServiceDefinition.fullName;

/**
 * How much later than the pipeline grpc-js ends a call, in milliseconds: it only has to end those whose message
 * never comes to its end, which the pipeline does not see.
 */
const HANDOVER_MS = 500;

/** What a server is made of. */
export interface GrpcServerOptions {
  /** `host:port` (port 0 takes a free one) or `unix:/path`. */
  readonly address: string;
  readonly methods: readonly Method[];
  readonly pipeline: Pipeline;
  readonly health: Health;
  readonly reflection: boolean;
  /** Longest time of one call, in milliseconds, from its first byte on. */
  readonly deadlineMs: number;
}

/** A gRPC server that listens. */
export interface GrpcServer {
  /** Where it listens, with the port that it really has. */
  readonly address: string;
  /** Takes no new call, ends the watches and resolves when every call is answered, or at `graceMs`. */
  close(graceMs: number): Promise<void>;
}

/** Starts the server. @throws Error when the address can not be had */
export async function startGrpcServer(options: GrpcServerOptions): Promise<GrpcServer> {
  const { address, methods, pipeline, health, reflection, deadlineMs } = options;
  const interceptors = [completeFrameworkStatus(pipeline)];
  const server = new StrictServer({ 'grpc.enable_channelz': 0, interceptors });
  for (const { path } of methods) server.register(path, unary(path, pipeline), identity, identity, 'unary');
  server.register(UNKNOWN_METHOD, unknown(pipeline), identity, identity, 'bidi');
  health.addWatchTo(server);
  if (reflection) addReflectionTo(server, [ROUTE_SERVICE, HEALTH_SERVICE]);
  const port = await server.listen(
    address,
    deadlineMs + HANDOVER_MS,
    new Set(methods.map(({ path }) => path)),
  );
  return {
    address: address.startsWith('unix:') ? address : address.replace(/:\d+$/, `:${port}`),
    async close(graceMs) {
      health.close();
      await shutDown(server, graceMs);
    },
  };
}

/** The messages stay bytes here: the pipeline decodes them, after the guard. */
function identity(bytes: Buffer): Buffer {
  return bytes;
}

/** The one place where a call of grpc-js becomes ours and its reply grpc-js's. */
function unary(path: string, pipeline: Pipeline): handleUnaryCall<Buffer, Buffer> {
  return (call, callback) => {
    const gone = new AbortController();
    let answered = false;
    // grpc-js says so at the end of every call.
    call.on('cancelled', () => {
      if (!answered) gone.abort();
    });
    const deadline = Number(call.getDeadline());
    void pipeline({
      path,
      message: call.request,
      metadata: call.metadata,
      deadline,
      signal: gone.signal,
    }).then(({ code, details, message, trailers }) => {
      answered = true;
      if (code === status.OK) callback(null, Buffer.from(message ?? []), trailers);
      else callback({ code, details, metadata: trailers });
    });
  };
}

/** Whatever kind of method the caller meant, it is told at once that there is none. */
function unknown(pipeline: Pipeline): handleBidiStreamingCall<Buffer, Buffer> {
  return (call) => {
    const path = String(call.metadata.get(UNKNOWN_PATH_KEY)[0]);
    const signal = new AbortController().signal;
    void pipeline({
      path,
      message: Buffer.alloc(0),
      metadata: call.metadata,
      deadline: Infinity,
      signal,
    }).then(({ code, details, trailers }) => call.emit('error', { code, details, metadata: trailers }));
  };
}

function shutDown(server: Server, graceMs: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => {
      server.forceShutdown();
      resolve();
    }, graceMs);
    server.tryShutdown(() => {
      clearTimeout(timer);
      resolve();
    });
  });
}
