import { type ChannelOptions, credentials, Metadata, status } from '@grpc/grpc-js';
import { type GrpcUpstream, grpcUpstream } from '../../src/grpc-js.js';
import type { UnaryCall } from '../../src/upstream.js';
import { type GrpcReply, listen } from './grpc-server.js';
import { opening } from './opening.js';

/** The success of a call, without a message. */
export const OK = { code: status.OK, details: '', answered: true, trailers: new Metadata() };

/** An upstream without TLS, until the test ends. */
export function upstreamAt(
  target: string,
  channelOptions: ChannelOptions = {},
  options: { readonly maxReplyBytes?: number; readonly maxCallsOfCaller?: number } = {},
): GrpcUpstream {
  const allOptions = { credentials: credentials.createInsecure(), channelOptions, ...options };
  return opening(grpcUpstream(target, allOptions));
}

/** An upstream to a grpc-js server whose methods have these paths. */
export async function upstreamTo(
  unary: (call: UnaryCall) => GrpcReply | Promise<GrpcReply>,
  paths: readonly string[],
  options: Parameters<typeof upstreamAt>[2] = {},
): Promise<GrpcUpstream> {
  return upstreamAt(opening(await listen({ unary }, paths)).address, {}, options);
}
