import { status } from '@grpc/grpc-js';
import { ChannelCall } from './channel-call.js';
import { Channel } from './channel.js';
import { failedReply } from './grpc-status.js';
import type { UnaryCall, UnaryReply, Upstream } from './upstream.js';

/** An upstream that is reached over a channel of its own. */
export interface ChannelUpstream extends Upstream {
  /** Closes the channel: calls that are under way go on to their end, later ones are `UNAVAILABLE`. */
  close(): void;
}

/**
 * Opens a channel without TLS to a gRPC server. It connects with the first call, and again after a
 * connection was lost. Calls are never repeated: only the caller knows whether that is safe.
 *
 * @param address `host:port`, where the host may be an IPv6 address in brackets, or `unix:/path`.
 */
export function channelUpstream(address: string): ChannelUpstream {
  const channel = new Channel(address);
  return {
    unary: (call) => unary(channel, call),
    close: () => {
      channel.close();
    },
  };
}

function unary(channel: Channel, call: UnaryCall): UnaryReply | Promise<UnaryReply> {
  if (call.cancellation.cancelled) return failedReply(status.CANCELLED, 'The caller has gone.');
  if (call.deadline <= Date.now()) return failedReply(status.DEADLINE_EXCEEDED, 'The deadline has passed.');
  return new Promise((resolve) => {
    new ChannelCall(call, channel, resolve);
  });
}
