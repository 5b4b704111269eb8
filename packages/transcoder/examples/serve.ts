import { createServer, type Server } from 'node:http';
import { Client, credentials, Metadata } from '@grpc/grpc-js';
import { createTranscoder, type UnaryCall, type UnaryReply } from '@route-registry/transcoder';

/** Serves the contract in `descriptorSet` over HTTP and JSON, by calls to the gRPC server at `target`. */
export function serve(descriptorSet: Uint8Array, target: string): Server {
  const client = new Client(target, credentials.createInsecure());
  const same = (bytes: Buffer): Buffer => bytes;
  const unary = ({ path, message, metadata, deadline }: UnaryCall): Promise<UnaryReply> =>
    new Promise((resolve) => {
      const sent = Metadata.fromHttp2Headers(Object.fromEntries(metadata));
      client.makeUnaryRequest(path, same, same, Buffer.from(message), sent, { deadline }, (error, reply) => {
        if (error) resolve({ code: error.code, details: error.details, trailers: error.metadata });
        else resolve({ code: 0, details: '', message: reply ?? Buffer.alloc(0) });
      });
    });
  const { handler, onClientError } = createTranscoder({ descriptorSet, upstream: { unary } });
  return createServer(handler)
    .on('clientError', onClientError)
    .on('close', () => {
      client.close();
    });
}
