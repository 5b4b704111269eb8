import {
  Metadata,
  Server,
  ServerCredentials,
  type sendUnaryData,
  type ServerUnaryCall,
  type ServiceDefinition,
  status,
  type UntypedHandleCall,
} from '@grpc/grpc-js';
import { pino } from 'pino';
import type { Cancellation, Upstream } from '../../src/gateway/upstream.js';
import type { Pipeline } from '../../src/grpc/pipeline.js';
import { Tunnels } from '../../src/grpc/tunnels.js';
import { Caller } from '../support/caller.js';

/** A gRPC server on a loopback port or a Unix socket. */
export interface ListeningServer {
  readonly address: string;
  /** Ends all connections at once. */
  close(): void;
}

/**
 * Serves an upstream over a socket: each method takes and gives bytes.
 *
 * @param address `host:port` or `unix:/path`; default: any loopback port.
 */
export async function listen(
  upstream: Upstream,
  paths: readonly string[],
  address = '127.0.0.1:0',
): Promise<ListeningServer> {
  const server = new Server();
  const service: ServiceDefinition = Object.fromEntries(
    paths.map((path) => [path, { path, ...UNARY_BYTES }]),
  );
  server.addService(service, Object.fromEntries(paths.map((path) => [path, handler(upstream, path)])));
  return listening(server, address);
}

/** Serves an upstream by tunnels alone. */
export async function listenForTunnels(
  upstream: Upstream,
  address = '127.0.0.1:0',
): Promise<ListeningServer> {
  const server = new Server();
  const pipeline: Pipeline = (call) => upstream.unary(call);
  new Tunnels({ pipeline, deadlineMs: 60_000, logger: pino({ level: 'silent' }) }).addTo(server);
  return listening(server, address);
}

/** Calls a method until the upstream has a tunnel: by itself, no call gets through to such a server. */
export async function openTunnel(upstream: Upstream, path: string): Promise<void> {
  const call = { path, message: Buffer.alloc(0), deadline: Infinity, cancellation: new Caller() };
  while ((await upstream.unary({ ...call, metadata: new Metadata() })).code === status.UNIMPLEMENTED);
}

async function listening(server: Server, address: string): Promise<ListeningServer> {
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync(address, ServerCredentials.createInsecure(), (error, bound) => {
      if (error === null) resolve(bound);
      else reject(error);
    });
  });
  return {
    address: address.replace(/:0$/, `:${port}`),
    close: () => {
      server.forceShutdown();
    },
  };
}

const asIs = (bytes: Buffer): Buffer => bytes;
const UNARY_BYTES = {
  requestStream: false,
  responseStream: false,
  requestSerialize: asIs,
  requestDeserialize: asIs,
  responseSerialize: asIs,
  responseDeserialize: asIs,
} as const;

function handler(upstream: Upstream, path: string): UntypedHandleCall {
  return (call: ServerUnaryCall<Buffer, Buffer>, callback: sendUnaryData<Buffer>): void => {
    const { request: message, metadata } = call;
    const deadline = Number(call.getDeadline());
    const reply = upstream.unary({ path, message, metadata, deadline, cancellation: cancellationOf(call) });
    void Promise.resolve(reply).then(({ code, details, message, trailers }) => {
      if (message === undefined) callback({ code, details, metadata: trailers });
      else callback(null, Buffer.from(message), trailers);
    });
  };
}

function cancellationOf(call: ServerUnaryCall<Buffer, Buffer>): Cancellation {
  return {
    get cancelled() {
      return call.cancelled;
    },
    onCancelled: (listener) => {
      call.on('cancelled', listener);
    },
  };
}
