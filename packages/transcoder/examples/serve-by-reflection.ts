import { createServer, type Server } from 'node:http';
import { credentials } from '@grpc/grpc-js';
import { createTranscoder } from '@route-registry/transcoder';
import { grpcUpstream } from '@route-registry/transcoder/grpc-js';
import { reflect } from '@route-registry/transcoder/reflection';

/** Serves what the gRPC server at `target` describes by reflection, as far as it can be served. */
export async function serveByReflection(target: string): Promise<Server> {
  const channel = { credentials: credentials.createInsecure() };
  const { descriptorSet, services } = await reflect(target, channel);
  const upstream = grpcUpstream(target, channel);
  const { handler } = createTranscoder({ descriptorSet, services, upstream, unsupported: 'skip' });
  return createServer(handler).on('close', upstream.close);
}
