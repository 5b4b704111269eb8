import { promisify } from 'node:util';
import {
  type Metadata,
  Server,
  ServerCredentials,
  type status,
  type sendUnaryData,
  type ServerUnaryCall,
  type ServiceDefinition,
  type UntypedHandleCall,
} from '@grpc/grpc-js';
import type { UnaryCall, UnaryReply } from '../../src/upstream.js';

/** A reply with everything that a grpc-js server sends. */
export type GrpcReply = Omit<UnaryReply, 'code' | 'initialMetadata' | 'trailers'> & {
  readonly code: status;
  readonly initialMetadata?: Metadata | undefined;
  readonly trailers: Metadata;
};

/** The implementation of every method. */
interface GrpcUpstream {
  unary(call: UnaryCall): GrpcReply | Promise<GrpcReply>;
}

/** A gRPC server on a loopback port or a Unix socket. */
interface ListeningServer {
  readonly address: string;
  /** Closes all connections at once. */
  close(): void;
}

/**
 * Serves an upstream over a socket: each method takes and returns bytes.
 *
 * @param address `host:port` or `unix:/path`. Default: any loopback port.
 * @param identity the server's certificate. Default: no TLS.
 */
export async function listen(
  upstream: GrpcUpstream,
  paths: readonly string[],
  address?: string,
  identity?: ServerCredentials,
): Promise<ListeningServer> {
  const server = new Server();
  const service: ServiceDefinition = Object.fromEntries(
    paths.map((path) => [path, { path, ...BYTES, responseStream: false }]),
  );
  server.addService(service, Object.fromEntries(paths.map((path) => [path, handler(upstream, path)])));
  return {
    address: await bind(server, address, identity),
    close: () => {
      server.forceShutdown();
    },
  };
}

/** Binds a server. Returns its address, with the port that it got. */
export async function bind(
  server: Server,
  address = '127.0.0.1:0',
  identity = ServerCredentials.createInsecure(),
): Promise<string> {
  const port = await promisify(server.bindAsync.bind(server))(address, identity);
  return address.replace(/:0$/, `:${port}`);
}

const asIs = (bytes: Buffer): Buffer => bytes;

/** A method that takes and returns bytes. */
export const BYTES = {
  requestStream: false,
  requestSerialize: asIs,
  requestDeserialize: asIs,
  responseSerialize: asIs,
  responseDeserialize: asIs,
} as const;

function handler(upstream: GrpcUpstream, path: string): UntypedHandleCall {
  return (call: ServerUnaryCall<Buffer, Buffer>, callback: sendUnaryData<Buffer>): void => {
    const { request: message } = call;
    const metadata = new Map(
      Object.entries(call.metadata.getMap()).map(([key, value]) => [key, String(value)]),
    );
    const deadline = Number(call.getDeadline());
    const reply = upstream.unary({ path, message, metadata, deadline, cancellation: cancellationOf(call) });
    void Promise.resolve(reply).then(({ code, details, message, initialMetadata, trailers }) => {
      if (initialMetadata !== undefined) call.sendMetadata(initialMetadata);
      if (message === undefined) callback({ code, details, metadata: trailers });
      else callback(null, Buffer.from(message), trailers);
    });
  };
}

function cancellationOf(call: ServerUnaryCall<Buffer, Buffer>): UnaryCall['cancellation'] {
  return {
    get cancelled() {
      return call.cancelled;
    },
    onCancelled: (listener: () => void) => {
      call.on('cancelled', listener);
    },
  };
}
