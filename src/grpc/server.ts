import { once } from 'node:events';
import { lstat, rm } from 'node:fs/promises';
import { constants, type Http2Server, type IncomingHttpHeaders, type ServerHttp2Stream } from 'node:http2';
import { connect } from 'node:net';
import type { SecureContextOptions } from 'node:tls';
import { Server, ServerCredentials, type ServerOptions } from '@grpc/grpc-js';
import type { Method } from '../calls/call.js';
import type { Pipeline } from '../calls/pipeline.js';
import { serviceNamesOf } from '../calls/service.js';
import type { Limits } from '../settings/config.js';
import { areOfCall, prepareForGrpcJs, UNKNOWN_METHOD } from './call-headers.js';
import type { Connection, ConnectionTimes } from './connection.js';
import { Connections } from './connections.js';
import { addWatchTo, type Health, WATCH_PATH } from './health.js';
import { http2ServersOf } from './http2-servers.js';
import { addReflectionTo, REFLECTION_PATHS } from './reflection.js';
import { type ObserveStreamingCall, StreamingCalls } from './streaming-calls.js';
import { unaryCallInterceptor } from './unary-call.js';

/** The paths of the streaming methods, by type. */
export const STREAMING_PATHS = { server_stream: [WATCH_PATH], bidi_stream: REFLECTION_PATHS } as const;

/** More streams may be open than calls may be in progress, so that excess calls can be refused with a reason. */
const STREAMS_PER_CALL = 1.125;
/** The ratio of grpc-js's limit on messages to the pipeline's, which refuses with the contract's details. */
const MESSAGE_MARGIN = 2;
const UNIX = 'unix:';

/** Times that are not configurable, in milliseconds. */
export interface GrpcTimes extends ConnectionTimes {
  /** How long the request of a reflection call may take. */
  readonly reflectionMs: number;
  /** The interval between pings to a client, which detect lost clients. */
  readonly keepaliveMs: number;
  /** How long a client may take to acknowledge a ping. */
  readonly keepaliveTimeoutMs: number;
}

const TIMES: GrpcTimes = {
  patienceMs: 10_000,
  resetMs: 500,
  reflectionMs: 60_000,
  keepaliveMs: 60_000,
  keepaliveTimeoutMs: 20_000,
  checkMs: 100,
};

/** The certificate of a server, which may be renewed while the server runs. */
export interface ServerTls {
  /** With `ca`, every client needs a certificate from one of these authorities. */
  readonly latest: SecureContextOptions;
  /** Calls the listener whenever `latest` has changed. */
  onRenewed(listener: () => void): void;
}

/** The parts of a server. */
interface GrpcServerOptions {
  /** `host:port` (port 0 selects a free port) or `unix:/path`. */
  readonly address: string;
  readonly methods: readonly Method[];
  readonly pipeline: Pipeline;
  readonly health: Health;
  readonly reflection: boolean;
  readonly limits: Limits;
  /** Default: no TLS. */
  readonly tls?: ServerTls | undefined;
  /** Default: `TIMES`. */
  readonly times?: Partial<GrpcTimes>;
  /** The most streaming calls of all connections. Default: 1,024. */
  readonly mostStreamingCalls?: number | undefined;
  /** Observes the streaming calls. Default: none. */
  readonly observeStreaming?: ObserveStreamingCall | undefined;
  /** Called with the reason when a connection is ended because of a client's error. Default: not called. */
  readonly onConnectionError?: ((reason: string) => void) | undefined;
}

/** A listening gRPC server. */
export interface GrpcServer {
  /** Its address, with the actual port. */
  readonly address: string;
  /**
   * Stops accepting connections, ends the streaming calls and resolves when every other call is complete. After
   * `graceMs`, destroys the remaining connections.
   */
  close(graceMs: number): Promise<void>;
}

/** Starts the server. @throws Error when it cannot listen on the address */
export async function startGrpcServer(options: GrpcServerOptions): Promise<GrpcServer> {
  const { address, methods, pipeline, health, reflection, limits, tls } = options;
  const times = { ...TIMES, ...options.times };
  const { deadlineMs } = limits;
  const unaryPaths = new Set(methods.map(({ path }) => path));
  /** How long a request of a streaming method may take, in milliseconds, by its path. */
  const requestMsOfStreaming = new Map([[WATCH_PATH, deadlineMs]]);
  const streamingCalls = new StreamingCalls(options.observeStreaming, options.mostStreamingCalls);

  /** The latest stream that was passed to grpc-js, which creates the call before it returns. */
  let latest: { readonly stream: ServerHttp2Stream; readonly connection: Connection };
  const server = new Server({
    ...transportOptions(limits, times),
    interceptors: [unaryCallInterceptor(pipeline, unaryPaths, deadlineMs, () => latest)],
  });

  for (const path of unaryPaths) server.register(path, unreachable, toBuffer, keepEncoded, 'unary');
  server.register(UNKNOWN_METHOD, unreachable, toBuffer, keepEncoded, 'bidi');
  addWatchTo(server, health, streamingCalls);
  if (reflection) {
    addReflectionTo(server, serviceNamesOf(methods), streamingCalls);
    for (const path of REFLECTION_PATHS) requestMsOfStreaming.set(path, times.reflectionMs);
  }

  const port = await listen(server, address, tls, times.patienceMs);
  const connections = new Connections({
    ...limits,
    ...times,
    // As many calls of one caller may wait (decision 21).
    mostStreamsOfBusy: limits.maxWaitingCalls / 2,
    mostStreamsOfAll: STREAMS_PER_CALL * limits.maxCalls,
    onError: options.onConnectionError,
  });

  for (const listener of http2ServersOf(server)) {
    connections.attach(listener);
    filterStreams(listener, (stream, headers, _flags, rawHeaders) => {
      const requestMs = requestMsOfStreaming.get(String(headers[':path']));
      const connection =
        requestMs === undefined
          ? connections.acceptCall(stream, rawHeaders)
          : connections.acceptStreamingCall(stream, rawHeaders, requestMs);
      if (connection === undefined) return false;

      if (!areOfCall(headers)) {
        stream.respond({ ':status': constants.HTTP_STATUS_UNSUPPORTED_MEDIA_TYPE }, { endStream: true });
        return false;
      }

      prepareForGrpcJs(headers, unaryPaths, requestMsOfStreaming);
      latest = { stream, connection };
      return true;
    });
  }

  return {
    address: address.startsWith(UNIX) ? address : address.replace(/:\d+$/, `:${port}`),
    async close(graceMs) {
      // Tells watching clients that the server is going away and ends their calls, then all other streaming calls.
      health.close();
      streamingCalls.close();
      // Stops listening. The callback may never be called, so `connections` waits for the connections instead.
      server.tryShutdown(() => undefined);
      await connections.close(graceMs);
    },
  };
}

function transportOptions(limits: Limits, times: GrpcTimes): ServerOptions {
  const options: ServerOptions = {
    'grpc.enable_channelz': 0,
    'grpc.max_receive_message_length': MESSAGE_MARGIN * limits.maxMessageBytes,
    'grpc.max_concurrent_streams': limits.maxStreams,
    'grpc.keepalive_time_ms': times.keepaliveMs,
    'grpc.keepalive_timeout_ms': times.keepaliveTimeoutMs,
  };
  // By default, a connection may grow old.
  if (limits.grpcMaxAgeMs > 0) {
    options['grpc.max_connection_age_ms'] = limits.grpcMaxAgeMs;
    options['grpc.max_connection_age_grace_ms'] = limits.deadlineMs + times.resetMs;
  }
  return options;
}

/** Listens, and returns the port. */
async function listen(
  server: Server,
  address: string,
  tls: ServerTls | undefined,
  handshakeMs: number,
): Promise<number> {
  if (address.startsWith(UNIX)) await removeDeadSocket(address.slice(UNIX.length));
  const credentials =
    tls === undefined ? ServerCredentials.createInsecure() : new RenewedCredentials(tls, handshakeMs);
  return new Promise((resolve, reject) => {
    server.bindAsync(address, credentials, (error, bound) => {
      if (error === null) resolve(bound);
      else reject(error);
    });
  });
}

/**
 * Server credentials that grpc-js reloads whenever they are renewed (decision 27). Open connections are not affected.
 */
class RenewedCredentials extends ServerCredentials {
  /** @param handshakeMs how long a handshake may take, in milliseconds */
  constructor(tls: ServerTls, handshakeMs: number) {
    const requestCert = tls.latest.ca !== undefined;
    super({ requestCert, rejectUnauthorized: true, handshakeTimeout: handshakeMs }, tls.latest);
    tls.onRenewed(() => {
      this.updateSecureContextOptions(tls.latest);
    });
  }

  override _equals(other: ServerCredentials): boolean {
    return this === other;
  }
}

/** Removes a Unix socket on which no process listens, such as a killed process leaves behind. */
async function removeDeadSocket(path: string): Promise<void> {
  const socket = connect(path);
  try {
    await once(socket, 'connect');
  } catch (error) {
    const refused = (error as NodeJS.ErrnoException).code === 'ECONNREFUSED';
    // Other files refuse connections too.
    if (refused && (await lstat(path)).isSocket()) await rm(path);
  } finally {
    socket.destroy();
  }
}

/** The arguments of Node's `stream` event; `rawHeaders` alternates names and values. */
type StreamEvent = [
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  flags: number,
  rawHeaders: string[],
];

/** Passes to grpc-js's listeners only the streams that `admits` accepts. */
function filterStreams(listener: Http2Server, admits: (...event: StreamEvent) => boolean): void {
  const listeners = listener.listeners('stream');
  listener.removeAllListeners('stream').on('stream', (...event: StreamEvent) => {
    // Without a listener, the reset of a stream that grpc-js never sees would be an uncaught error.
    if (admits(...event)) for (const pass of listeners) pass.apply(listener, event);
    else event[0].on('error', () => undefined);
  });
}

/** Leaves messages encoded: the pipeline decodes them, after the guard. */
function keepEncoded(bytes: Buffer): Buffer {
  return bytes;
}

function toBuffer({ buffer, byteOffset, length }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, length);
}

/** The handler of methods whose calls never get here, since the pipeline takes them first. */
function unreachable(): never {
  throw new Error('The pipeline left a call to grpc-js.');
}
