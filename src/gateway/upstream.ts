import { createSecureContext } from 'node:tls';
import { type ChannelCredentials, credentials } from '@grpc/grpc-js';
import type { CallMetadata, UnaryReply, Upstream } from '@route-registry/transcoder';
import { type GrpcUpstream, grpcUpstream, tlsOptions } from '@route-registry/transcoder/grpc-js';
import type { Reply } from '../calls/call.js';
import type { Pipeline } from '../calls/pipeline.js';
import type { FollowedTls } from '../files/followed-tls.js';
import type { Limits } from '../settings/config.js';

/** The pipeline in this process as an upstream, called without a socket. */
export function memoryUpstream(pipeline: Pipeline): Upstream {
  return {
    unary: ({ path, message, metadata, deadline, cancellation }) => {
      const reply = pipeline({ path, message, metadata: readable(metadata), deadline, cancellation });
      return reply instanceof Promise ? reply.then(toUpstreamReply) : toUpstreamReply(reply);
    },
  };
}

/** The pipeline always replies, like a reachable server. */
function toUpstreamReply({ code, details, message, trailers, fields }: Reply): UnaryReply {
  return { code, details, answered: true, message, trailers, callerKnown: fields !== undefined, fields };
}

function readable(metadata: CallMetadata) {
  return {
    get: (key: string): string[] => {
      const value = metadata.get(key);
      return value === undefined ? [] : [value];
    },
  };
}

/**
 * The clock of all deadlines in this process, that of `performance.now()`, in whole milliseconds: they do not move when
 * the wall clock jumps.
 */
export function now(): number {
  return Math.floor(performance.now());
}

/** Adapts an upstream that expects deadlines on the wall clock. */
export function onWallClock(upstream: Upstream): Upstream {
  return {
    unary: (call) => upstream.unary({ ...call, deadline: call.deadline - now() + Date.now() }),
  };
}

const CHANNEL_OPTIONS = {
  // Drops the connection to a silent server after 15 seconds, even without calls: this service allows such pings.
  'grpc.keepalive_time_ms': 10_000,
  'grpc.keepalive_timeout_ms': 5_000,
  'grpc.keepalive_permit_without_calls': 1,
};

/**
 * Opens a channel to a gRPC server of this service. It connects anew whenever the TLS files are renewed.
 *
 * @param tls undefined for a connection without TLS
 */
export function openChannel(
  target: string,
  tls: FollowedTls | undefined,
  { maxWaitingCalls }: Pick<Limits, 'maxWaitingCalls'>,
): GrpcUpstream {
  const { verifyOptions, channelOptions } = tlsOptions(target);
  const identity = (): ChannelCredentials =>
    tls === undefined
      ? credentials.createInsecure()
      : credentials.createFromSecureContext(createSecureContext(tls.latest), verifyOptions);
  const channel = grpcUpstream(target, {
    credentials: identity(),
    // As many as the server lets wait: here nobody knows which calls wait.
    maxCallsOfCaller: Math.floor(maxWaitingCalls / 2),
    channelOptions: { ...CHANNEL_OPTIONS, ...channelOptions },
  });
  tls?.onRenewed(() => {
    channel.renew(identity());
  });
  return channel;
}
