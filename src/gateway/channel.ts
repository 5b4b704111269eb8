import { createSecureContext } from 'node:tls';
import { type ChannelCredentials, credentials } from '@grpc/grpc-js';
import { type GrpcUpstream, grpcUpstream, tlsOptions } from '@route-registry/transcoder/grpc-js';
import type { FollowedTls } from '../files/followed-tls.js';
import type { Limits } from '../settings/config.js';

const CHANNEL_OPTIONS = {
  // A server that has moved is looked up at once, and not up to 30 seconds later.
  'grpc.dns_min_time_between_resolutions_ms': 1_000,
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
