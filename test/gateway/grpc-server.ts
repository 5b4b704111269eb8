import {
  Server,
  ServerCredentials,
  type sendUnaryData,
  type ServerUnaryCall,
  type ServiceDefinition,
  type UntypedHandleCall,
} from '@grpc/grpc-js';
import type { Upstream } from '../../src/gateway/upstream.js';

/** A gRPC server on a loopback port. */
export interface ListeningServer {
  readonly address: string;
  /** Ends all connections at once. */
  close(): void;
}

/**
 * Serves an upstream over a socket: each method takes and gives bytes.
 *
 * @param address default: any loopback port.
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
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync(address, ServerCredentials.createInsecure(), (error, bound) => {
      if (error === null) resolve(bound);
      else reject(error);
    });
  });
  return {
    address: `127.0.0.1:${port}`,
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
    const gone = new AbortController();
    call.on('cancelled', () => {
      gone.abort();
    });
    const { request: message, metadata } = call;
    const deadline = Number(call.getDeadline());
    void upstream.unary({ path, message, metadata, deadline, signal: gone.signal }).then((reply) => {
      const { code, details, trailers } = reply;
      if (reply.message === undefined) callback({ code, details, metadata: trailers });
      else callback(null, Buffer.from(reply.message), trailers);
    });
  };
}
