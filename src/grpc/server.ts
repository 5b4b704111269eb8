import { type Server, ServerCredentials, type ServerOptions } from '@grpc/grpc-js';
import { RouteServiceDefinition } from '../gen/routing/v1/route_service.js';
import { Connections } from '../edge/connections.js';
import { EarlyAnswers } from './early-answer.js';
import { type Health, WATCH_PATH } from './health.js';
import { MessageGates } from './message-gate.js';
import { type GrpcLimits, type GrpcTimes, TIMES } from './limits.js';
import type { Method } from '../calls/method.js';
import type { Pipeline } from '../calls/pipeline.js';
import { addReflectionTo, REFLECTION_PATHS } from './reflection.js';
import { CallAnswering } from './call-answering.js';
import { RenewedCredentials, type ServerTls } from './renewed-credentials.js';
import type { ObserveStreamingCall } from './streaming-call.js';
import { StreamingCalls } from './streaming-calls.js';
import { StrictServer, UNKNOWN_METHOD } from './strict-server.js';

/** The services that health and reflection describe. */
const HEALTH_SERVICE = 'grpc.health.v1.Health';
export const ROUTE_SERVICE = RouteServiceDefinition.fullName;

/** The paths of the streaming methods, by their type. */
export const STREAMING_PATHS = { server_stream: [WATCH_PATH], bidi_stream: REFLECTION_PATHS } as const;

/** More streams may be open than calls may be under way, so that further calls are told why they are refused. */
const STREAMS_PER_CALL = 1.125;

/** The parts of a server. */
interface GrpcServerOptions {
  /** `host:port` (port 0 takes a free one) or `unix:/path`. */
  readonly address: string;
  readonly methods: readonly Method[];
  readonly pipeline: Pipeline;
  readonly health: Health;
  readonly reflection: boolean;
  readonly limits: GrpcLimits;
  /** Default: no TLS. */
  readonly tls?: ServerTls | undefined;
  /** Default: `TIMES`. */
  readonly times?: Partial<GrpcTimes>;
  /** The most streaming calls of all connections. Default: 1,024. */
  readonly mostStreamingCalls?: number | undefined;
  /** Observes the streaming calls. Default: none. */
  readonly observeStreaming?: ObserveStreamingCall | undefined;
  /** Called with the reason when a connection is ended for an error of its client. Default: not at all. */
  readonly onConnectionError?: ((reason: string) => void) | undefined;
}

/** A listening gRPC server. */
export interface GrpcServer {
  /** Its address, with the actual port. */
  readonly address: string;
  /**
   * Accepts no new connections, ends the streaming calls and resolves when every other call is answered, or after
   * `graceMs`, when it cuts the remaining ones.
   */
  close(graceMs: number): Promise<void>;
}

/** Starts the server. @throws Error when it cannot listen on the address */
export async function startGrpcServer(options: GrpcServerOptions): Promise<GrpcServer> {
  const { address, methods, pipeline, health, reflection, limits, tls } = options;
  const times = { ...TIMES, ...options.times };
  const { deadlineMs, maxMessageBytes } = limits;
  const paths = new Set(methods.map(({ path }) => path));
  const longestMs = new Map(REFLECTION_PATHS.map((path) => [path, times.reflectionMs]));
  longestMs.set(WATCH_PATH, Infinity);
  const earlyAnswers = new EarlyAnswers(times.unreadMs, deadlineMs, STREAMING_PATHS.bidi_stream, (stream) => {
    connections.answer(stream);
  });
  const gates = new MessageGates(maxMessageBytes);
  const streamingCalls = new StreamingCalls({
    longestMs,
    requestMs: deadlineMs,
    most: options.mostStreamingCalls,
    maxMessageBytes,
    maxTrailerBytes: limits.maxTrailerBytes,
    earlyAnswers,
    gates,
    observe: options.observeStreaming,
  });
  // What strangers send to methods without a guard is not inflated.
  const open = methods.filter(({ access }) => access === 'public').map(({ path }) => path);
  const uncompressed = new Set([...open, ...longestMs.keys()]);
  const answering = new CallAnswering({
    pipeline,
    paths,
    uncompressed,
    deadlineMs,
    maxMessageBytes,
    earlyAnswers,
    gates,
  });
  const interceptors = [answering.interceptor, streamingCalls.interceptor];
  const server = new StrictServer(
    { ...transportOptions(limits, times), interceptors },
    limits.maxCallPathBytes,
    uncompressed,
    earlyAnswers,
  );
  for (const path of paths) server.register(path, unreachable, sent, received, 'unary');
  server.register(UNKNOWN_METHOD, unreachable, sent, received, 'bidi');
  health.addWatchTo(server);
  if (reflection) addReflectionTo(server, [ROUTE_SERVICE, HEALTH_SERVICE]);
  const connections = new Connections({
    ...limits,
    ...times,
    sharedStreams: limits.maxWaitingCalls / 2,
    mostStreams: STREAMS_PER_CALL * limits.maxCalls,
    onStream: (stream, headers) => {
      const path = String(headers[':path']);
      const limitMs = longestMs.get(path);
      earlyAnswers.arrive(stream, path);
      gates.arrive(stream);
      return limitMs;
    },
    onError: options.onConnectionError,
  });
  const credentials =
    tls === undefined ? ServerCredentials.createInsecure() : new RenewedCredentials(tls, times.patienceMs);
  const port = await server.listen(address, credentials, (listener) => {
    connections.attach(listener);
  });
  return {
    address: address.startsWith('unix:') ? address : address.replace(/:\d+$/, `:${port}`),
    async close(graceMs) {
      health.close();
      earlyAnswers.close();
      answering.close();
      streamingCalls.close();
      const cutting = setTimeout(() => {
        connections.destroy();
      }, graceMs);
      await connections.goAway();
      await shutDown(server);
      clearTimeout(cutting);
    },
  };
}

function transportOptions(limits: GrpcLimits, times: GrpcTimes): ServerOptions {
  return {
    'grpc.enable_channelz': 0,
    'grpc.max_receive_message_length': limits.maxMessageBytes,
    'grpc.max_concurrent_streams': limits.maxStreams,
    'grpc.keepalive_time_ms': times.keepaliveMs,
    'grpc.keepalive_timeout_ms': times.keepaliveTimeoutMs,
    ...(limits.grpcMaxAgeMs > 0 && {
      'grpc.max_connection_age_ms': limits.grpcMaxAgeMs,
      'grpc.max_connection_age_grace_ms': limits.deadlineMs + times.unreadMs,
    }),
  };
}

/** Leaves messages as bytes: the pipeline decodes them, after the guard. */
function received(bytes: Buffer): Buffer {
  return bytes;
}

function sent({ buffer, byteOffset, length }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, length);
}

/** The handler of methods whose calls the pipeline takes before they get here. */
function unreachable(): never {
  throw new Error('The pipeline left a call to grpc-js.');
}

/** Resolves when every connection is gone. */
function shutDown(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.tryShutdown(() => {
      resolve();
    });
  });
}
