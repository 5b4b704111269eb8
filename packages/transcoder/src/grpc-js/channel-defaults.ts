import type { ChannelOptions } from '@grpc/grpc-js';

/** The default channel options. */
export const CHANNEL_DEFAULTS: ChannelOptions = {
  // A proxy set in the environment is meant for external traffic.
  'grpc.enable_http_proxy': 0,
  'grpc.enable_channelz': 0,
  // Spreads the load over all addresses of the target, and retries nothing that a server may have processed, whatever
  // service config its DNS records hold.
  'grpc.service_config': JSON.stringify({ loadBalancingConfig: [{ round_robin: {} }] }),
  'grpc.service_config_disable_resolution': 1,
  // Reconnects to a restarted server within about a second.
  'grpc.initial_reconnect_backoff_ms': 100,
  'grpc.max_reconnect_backoff_ms': 1_000,
  // Finds a server that has moved as soon; the default is 30 seconds.
  'grpc.dns_min_time_between_resolutions_ms': 1_000,
  // As often as servers allow by default, and as they do only during calls: grpc-go, grpc-java and C-core end a
  // connection with more pings.
  'grpc.keepalive_time_ms': 300_000,
  'grpc.keepalive_timeout_ms': 20_000,
};
