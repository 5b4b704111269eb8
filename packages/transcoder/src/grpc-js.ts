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

const MAX_REPLY_BYTES = 4 * 1024 * 1024;

/** The options of an upstream over a channel. */
export interface GrpcUpstreamOptions {
  /** Of the channel: `credentials.createInsecure()`, or `credentials.createSsl()` with the certificates. */
  readonly credentials: ChannelCredentials;
  /**
   * The largest response message, in bytes; a larger one is 500, with a line in the log that names this bound. Default:
   * 4 MiB, as in gRPC. A message, its JSON and its text are in memory at the same time.
   */
  readonly maxReplyBytes?: number;
  /** Options of grpc-js, each in the place of the default of the same name. */
  readonly channelOptions?: ChannelOptions;
}

/** An upstream with a channel of its own. */
export interface GrpcUpstream extends Required<Upstream> {
  /**
   * Uses other credentials, on a new channel, once that has connected, or could not. Until then calls are made on the old
   * one, and run to their end there.
   */
  readonly renew: (credentials: ChannelCredentials) => void;
  /** Closes the channel: calls in progress run to their end, later ones fail with `UNAVAILABLE`. */
  readonly close: () => void;
}

/**
 * An upstream that calls one or more gRPC servers, with one plain call of grpc-js for each request. The channel
 * connects with the first call, and reconnects after a lost connection. Calls are never retried. A call ends with its
 * deadline, which is on the wall clock, and when its client goes; the server is told of both. Of a stream, grpc-js reads
 * up to 16 messages ahead.
 *
 * @param target a target of grpc-js (doc/naming.md of gRPC): `host:port`, `dns:///host:port`, `unix:/path`,
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
    // First, since closing it calls its listener.
    next = undefined;
    abandoned?.close();
  };
  /** The end of a call that is not worth making. */
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
        // A later renewal, or the end, has closed it.
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

/** A channel, which after its retirement is closed with its last call: also calls that still wait run to their end. */
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

  /** Connects, and calls the listener once that has succeeded or failed for the first time, or the channel is closed. */
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
