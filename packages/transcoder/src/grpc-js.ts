import {
  type ChannelCredentials,
  type ChannelOptions,
  Client,
  connectivityState,
  status,
} from '@grpc/grpc-js';
import { unanswered } from './grpc-js/call-failure.js';
import { MessageStream, request } from './grpc-js/calls.js';
import { CHANNEL_DEFAULTS } from './grpc-js/channel-defaults.js';
import type { ReplyStream, UnaryCall, UnaryReply, Upstream } from './upstream.js';

export { tlsOptions, type TlsOptions } from './grpc-js/tls-options.js';

const MAX_REPLY_BYTES = 4 * 1024 * 1024;

/** Options of `grpcUpstream`. */
export interface GrpcUpstreamOptions {
  /**
   * The credentials of the channel: `credentials.createInsecure()`, or `credentials.createSsl()` with the certificates.
   * For TLS to an IP address, use `tlsOptions`.
   */
  readonly credentials: ChannelCredentials;
  /**
   * The maximum size of a response message, in bytes. A larger one becomes a 500, with a line in the log that names
   * this limit. Default: 4 MiB, as in gRPC. A message, its JSON value and its JSON text are in memory at the same time.
   */
  readonly maxReplyBytes?: number;
  /** Channel options of grpc-js. Each overrides the default of the same name. */
  readonly channelOptions?: ChannelOptions;
}

/** An upstream with its own channel. */
export interface GrpcUpstream extends Required<Upstream> {
  /**
   * Switches to other credentials. A new channel replaces the current one once its first attempt to connect has
   * succeeded or failed. Until then, calls use the current channel, and they run to completion there.
   */
  readonly renew: (credentials: ChannelCredentials) => void;
  /** Closes the channel. Calls in progress run to completion; later calls fail with `UNAVAILABLE`. */
  readonly close: () => void;
}

/**
 * Creates an upstream that makes one plain grpc-js call for each request. The channel connects on the first call, and
 * reconnects after a lost connection. Calls are never retried. A call ends at its deadline, which is in wall-clock
 * time, or when its client disconnects; the server is notified of both. For a stream, grpc-js reads up to 16 messages
 * ahead.
 *
 * @param target a target of grpc-js (gRPC's doc/naming.md): `host:port`, `dns:///host:port`, `unix:/path`,
 *   `ipv4:host:port,host:port`. Calls are spread evenly over all its addresses.
 */
export function grpcUpstream(
  target: string,
  { credentials: first, maxReplyBytes = MAX_REPLY_BYTES, channelOptions }: GrpcUpstreamOptions,
): GrpcUpstream {
  const open = (credentials: ChannelCredentials): Channel =>
    new Channel(
      new Client(target, credentials, {
        ...CHANNEL_DEFAULTS,
        'grpc.max_receive_message_length': maxReplyBytes,
        ...channelOptions,
      }),
    );
  let current = open(first);
  let next: Channel | undefined;
  let closed = false;
  const abandonNext = (): void => {
    const abandoned = next;
    // Cleared first, since closing the channel calls its listener.
    next = undefined;
    abandoned?.close();
  };
  /** The reply to a call that is cancelled, past its deadline or made after `close`; undefined for any other. */
  const refusal = ({ cancellation, deadline }: UnaryCall): UnaryReply | undefined => {
    if (cancellation.cancelled) return unanswered(status.CANCELLED, 'The client has gone.');
    if (deadline <= Date.now()) return unanswered(status.DEADLINE_EXCEEDED, 'The deadline has passed.');
    if (closed) return unanswered(status.UNAVAILABLE, 'The channel is closed.');
    return undefined;
  };
  return {
    unary: (call) => refusal(call) ?? current.unary(call),
    serverStream(call) {
      const refused = refusal(call);
      return refused === undefined ? current.serverStream(call) : { next: () => Promise.resolve(refused) };
    },
    renew(credentials) {
      if (closed) return;
      abandonNext();
      const opened = open(credentials);
      next = opened;
      opened.whenSettled(() => {
        // A later renewal or `close` has closed this channel.
        if (next !== opened) return;
        current.retire();
        current = opened;
        next = undefined;
      });
    },
    close() {
      closed = true;
      abandonNext();
      current.close();
    },
  };
}

/**
 * A channel that closes after its last call once it is retired, so that calls waiting for a connection also complete.
 */
class Channel {
  readonly #client: Client;
  #calls = 0;
  #retired = false;

  constructor(client: Client) {
    this.#client = client;
  }

  unary(call: UnaryCall): Promise<UnaryReply> {
    this.#calls += 1;
    return request(this.#client, call).finally(() => {
      this.#calls -= 1;
      this.#closeIfDone();
    });
  }

  serverStream(call: UnaryCall): ReplyStream {
    this.#calls += 1;
    return new MessageStream(this.#client, call, () => {
      this.#calls -= 1;
      this.#closeIfDone();
    });
  }

  /**
   * Connects, and calls the listener when the first attempt has succeeded or failed, or the channel has been closed.
   */
  whenSettled(listener: () => void): void {
    const channel = this.#client.getChannel();
    const { IDLE, CONNECTING } = connectivityState;
    const look = (): void => {
      const state = channel.getConnectivityState(true);
      if (state === IDLE || state === CONNECTING) channel.watchConnectivityState(state, Infinity, look);
      else listener();
    };
    look();
  }

  retire(): void {
    this.#retired = true;
    this.#closeIfDone();
  }

  close(): void {
    this.#client.close();
  }

  #closeIfDone(): void {
    if (this.#retired && this.#calls === 0) this.close();
  }
}
