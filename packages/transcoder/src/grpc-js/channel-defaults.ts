import type { ChannelOptions } from '@grpc/grpc-js';

/** The default channel options. */
export const CHANNEL_DEFAULTS: ChannelOptions = {
  // A proxy set in the environment is meant for external traffic.
  'grpc.enable_http_proxy': 0,
  'grpc.enable_channelz': 0,
  // Only the client knows whether a call may be repeated.
  'grpc.enable_retries': 0,
  // Spreads the load over all addresses of the target, whatever service config its DNS records hold.
  'grpc.service_config': JSON.stringify({ loadBalancingConfig: [{ round_robin: {} }] }),
  'grpc.service_config_disable_resolution': 1,
  // Reconnects to a restarted server within about a second.
  'grpc.initial_reconnect_backoff_ms': 100,
  'grpc.max_reconnect_backoff_ms': 1_000,
  // Drops the connection to an unresponsive server after 15 seconds, even without calls in progress.
  'grpc.keepalive_time_ms': 10_000,
  'grpc.keepalive_timeout_ms': 5_000,
  'grpc.keepalive_permit_without_calls': 1,
};
