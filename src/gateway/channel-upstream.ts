import { type ChannelOptions, credentials, status } from '@grpc/grpc-js';
import { TunnelServiceClient } from '../gen/tunnel/v1/tunnel_service.js';
import { Tunnel } from './tunnel.js';
import { failedReply } from './unary-reply.js';
import { unaryRequest } from './unary-request.js';
import type { UnaryCall, UnaryReply, Upstream } from './upstream.js';

/** How long a server that refused a tunnel is not asked again, in milliseconds. */
const REFUSED_MS = 1_000;

const OPTIONS: ChannelOptions = {
  // What the environment names as proxy is for the outside.
  'grpc.enable_http_proxy': 0,
  'grpc.enable_channelz': 0,
  // Only the caller knows whether a call may be repeated.
  'grpc.enable_retries': 0,
  'grpc.service_config_disable_resolution': 1,
  // A server that restarts is found again within a second or so.
  'grpc.initial_reconnect_backoff_ms': 100,
  'grpc.max_reconnect_backoff_ms': 1_000,
  // A peer that falls silent is noticed, though a tunnel has no deadline.
  'grpc.keepalive_time_ms': 10_000,
  'grpc.keepalive_timeout_ms': 5_000,
};

/** An upstream that is reached over a channel of its own. */
export interface ChannelUpstream extends Upstream {
  /** Closes the channel: calls that are under way go on to their end, later ones are `UNAVAILABLE`. */
  close(): void;
}

/**
 * Opens a channel without TLS to a gRPC server. It connects with the first call, and again after a
 * connection was lost. Calls go through a tunnel if the server offers one, each by itself if not or not yet;
 * they are never repeated.
 *
 * @param address `host:port`, where the host may be an IPv6 address in brackets, or `unix:/path`.
 * @param options in place of the ones that it has by default, for tests.
 */
export function channelUpstream(address: string, options: ChannelOptions = {}): ChannelUpstream {
  return new Channel(
    new TunnelServiceClient(address, credentials.createInsecure(), { ...OPTIONS, ...options }),
  );
}

class Channel implements ChannelUpstream {
  readonly #client: TunnelServiceClient;
  #tunnel: Tunnel | undefined;
  #refusedUntil = -Infinity;
  #closed = false;

  constructor(client: TunnelServiceClient) {
    this.#client = client;
  }

  unary(call: UnaryCall): UnaryReply | Promise<UnaryReply> {
    if (call.cancellation.cancelled) return failedReply(status.CANCELLED, 'The caller has gone.');
    if (call.deadline <= Date.now()) return failedReply(status.DEADLINE_EXCEEDED, 'The deadline has passed.');
    if (this.#closed) return failedReply(status.UNAVAILABLE, 'The channel is closed.');
    const tunnel = this.#currentTunnel();
    return tunnel?.takes(call) === true ? tunnel.carry(call) : unaryRequest(this.#client, call);
  }

  close(): void {
    this.#closed = true;
    this.#tunnel?.close();
    this.#client.close();
  }

  #currentTunnel(): Tunnel | undefined {
    if (this.#tunnel?.isOver === false || performance.now() < this.#refusedUntil) return this.#tunnel;
    this.#tunnel = new Tunnel(this.#client, () => {
      this.#refusedUntil = performance.now() + REFUSED_MS;
    });
    return this.#tunnel;
  }
}
