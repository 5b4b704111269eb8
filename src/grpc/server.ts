import type { Server } from '@grpc/grpc-js';
import { RouteServiceDefinition } from '../gen/routing/v1/route_service.js';
import type { Health } from './health.js';
import type { Method } from '../calls/method.js';
import type { Pipeline } from '../calls/pipeline.js';
import { addReflectionTo } from './reflection.js';
import { CallAnswering } from './server-call.js';
import { StrictServer, UNKNOWN_METHOD } from './strict-server.js';

/** The services that health and reflection describe. */
export const HEALTH_SERVICE = 'grpc.health.v1.Health';
export const ROUTE_SERVICE = RouteServiceDefinition.fullName;

/** The parts of a server. */
export interface GrpcServerOptions {
  /** `host:port` (port 0 takes a free one) or `unix:/path`. */
  readonly address: string;
  readonly methods: readonly Method[];
  readonly pipeline: Pipeline;
  readonly health: Health;
  readonly reflection: boolean;
  /** The longest time of one call, in milliseconds, from its first byte on. */
  readonly deadlineMs: number;
  /** The largest request message, in bytes. */
  readonly maxMessageBytes: number;
}

/** A listening gRPC server. */
export interface GrpcServer {
  /** Its address, with the actual port. */
  readonly address: string;
  /** Accepts no new calls, ends the watches and resolves when every call is answered, or after `graceMs`. */
  close(graceMs: number): Promise<void>;
}

/** Starts the server. @throws Error when it cannot listen on the address */
export async function startGrpcServer(options: GrpcServerOptions): Promise<GrpcServer> {
  const { address, methods, pipeline, health, reflection, deadlineMs, maxMessageBytes } = options;
  const paths = new Set(methods.map(({ path }) => path));
  const answering = new CallAnswering({ pipeline, paths, deadlineMs, maxMessageBytes });
  const server = new StrictServer({
    'grpc.enable_channelz': 0,
    'grpc.max_receive_message_length': maxMessageBytes,
    interceptors: [answering.interceptor],
  });
  for (const path of paths) server.register(path, unreachable, sent, received, 'unary');
  server.register(UNKNOWN_METHOD, unreachable, sent, received, 'bidi');
  health.addWatchTo(server);
  if (reflection) addReflectionTo(server, [ROUTE_SERVICE, HEALTH_SERVICE]);
  const port = await server.listen(address);
  return {
    address: address.startsWith('unix:') ? address : address.replace(/:\d+$/, `:${port}`),
    async close(graceMs) {
      health.close();
      answering.endLate();
      await shutDown(server, graceMs);
    },
  };
}

/** The messages stay bytes here: the pipeline decodes them, after the guard. */
function received(bytes: Buffer): Buffer {
  return bytes;
}

function sent({ buffer, byteOffset, length }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, length);
}

/** Stands for the handler of a method whose calls the pipeline takes before they get here. */
function unreachable(): never {
  throw new Error('The pipeline left a call to grpc-js.');
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
