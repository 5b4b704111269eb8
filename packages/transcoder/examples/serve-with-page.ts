import { createServer, type Server } from 'node:http';
import { credentials } from '@grpc/grpc-js';
import { createTranscoder } from '@route-registry/transcoder';
import { grpcUpstream } from '@route-registry/transcoder/grpc-js';
import { describe } from '@route-registry/transcoder/openapi';
import { documentPages, withPages } from '@route-registry/transcoder/page';

/** Serves a contract by calls to the gRPC server at `target`, its document at `/openapi.json`, and a page at `/docs`. */
export function serveWithPage(descriptorSet: Uint8Array, target: string): Server {
  const options = {
    descriptorSet,
    upstream: grpcUpstream(target, { credentials: credentials.createInsecure() }),
  };
  const pages = documentPages(() => describe(options));
  return createServer(withPages(createTranscoder(options), pages)).on('close', options.upstream.close);
}
