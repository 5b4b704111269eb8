import { type ChannelOptions, Client, credentials, status } from '@grpc/grpc-js';
import { failedReply } from './unary-reply.js';
import { unaryRequest } from './unary-request.js';
import type { UnaryCall, UnaryReply, Upstream } from '../../packages/transcoder/src/upstream.js';

const OPTIONS: ChannelOptions = {
  // A proxy that the environment names is for traffic to the outside.
  'grpc.enable_http_proxy': 0,
  'grpc.enable_channelz': 0,
  // Only the caller knows whether a call may be repeated.
  'grpc.enable_retries': 0,
  // The load is spread over all addresses of the target, whatever its DNS records say of it.
  'grpc.service_config': JSON.stringify({ loadBalancingConfig: [{ round_robin: {} }] }),
  'grpc.service_config_disable_resolution': 1,
  // A server that restarts is found again within about a second.
  'grpc.initial_reconnect_backoff_ms': 100,
  'grpc.max_reconnect_backoff_ms': 1_000,
  // A server that falls silent is left out after 15 seconds, whether calls are under way or not.
  'grpc.keepalive_time_ms': 10_000,
  'grpc.keepalive_timeout_ms': 5_000,
  'grpc.keepalive_permit_without_calls': 1,
};

/** An upstream that is reached over a channel of its own. */
export interface ChannelUpstream extends Upstream {
  /** Closes the channel: calls that are under way go on to their end, later ones are `UNAVAILABLE`. */
  close(): void;
}

/**
 * Opens a channel without TLS to one gRPC server or several, and makes one plain unary call for each call. The
 * channel connects with the first call, and again after a connection was lost. Calls are never repeated.
 *
 * @param target an address or a name as grpc-js takes it (doc/naming.md of gRPC): `host:port`,
 *   `dns:///host:port`, `unix:/path`, `ipv4:host:port,host:port`. All its addresses share the calls evenly.
 * @param options in place of the ones that it has by default, for tests.
 */
export function channelUpstream(target: string, options: ChannelOptions = {}): ChannelUpstream {
  const client = new Client(target, credentials.createInsecure(), { ...OPTIONS, ...options });
  let closed = false;
  return {
    unary(call: UnaryCall): UnaryReply | Promise<UnaryReply> {
      if (call.cancellation.cancelled) return failedReply(status.CANCELLED, 'The caller has gone.');
      if (call.deadline <= Date.now())
        return failedReply(status.DEADLINE_EXCEEDED, 'The deadline has passed.');
      if (closed) return failedReply(status.UNAVAILABLE, 'The channel is closed.');
      return unaryRequest(client, call);
    },
    close() {
      closed = true;
      client.close();
    },
  };
}
