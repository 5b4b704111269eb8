import { createServer, type Server } from 'node:http';
import { credentials } from '@grpc/grpc-js';
import { createTranscoder } from '@route-registry/transcoder';
import { grpcUpstream } from '@route-registry/transcoder/grpc-js';

/** Serves the contract in `descriptorSet` over HTTP and JSON, by calls to the gRPC server at `target`. */
export function serve(descriptorSet: Uint8Array, target: string): Server {
  const upstream = grpcUpstream(target, { credentials: credentials.createInsecure() });
  const { handler, onClientError } = createTranscoder({ descriptorSet, upstream });
  return createServer(handler).on('clientError', onClientError).on('close', upstream.close);
}
