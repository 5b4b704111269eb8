import { type ChannelCredentials, type ChannelOptions, status } from '@grpc/grpc-js';
import { clientGoneReply, deadlineReply, unansweredReply } from './grpc-js/call-failure.js';
import { CallCounts } from './grpc-js/call-counts.js';
import { CHANNEL_DEFAULTS } from './grpc-js/channel-defaults.js';
import { Connections } from './grpc-js/connections.js';
import { checkedOptions, type Kind, numberFrom, OBJECT, TEXT } from './option-kinds.js';
import { CONNECTION_KEYS, type UnaryCall, type UnaryReply, type Upstream } from './upstream.js';

export { tlsOptions, type TlsOptions } from './grpc-js/tls-options.js';

const MAX_REPLY_BYTES = 4 * 1024 * 1024;
/** The most unary calls of one method in progress: half of what a transcoder takes by default. */
const MAX_CALLS_OF_METHOD = 2_048;
/** What the value of a key that does not end in `-bin` may be (gRPC's PROTOCOL-HTTP2.md). */
const METADATA_TEXT = /^[ -~]*$/;

const KINDS = {
  credentials: OBJECT,
  maxReplyBytes: numberFrom(1),
  maxCallsOfCaller: numberFrom(1),
  channelOptions: OBJECT,
} satisfies Record<keyof GrpcUpstreamOptions, Kind>;

/** Whether gRPC can send the metadata as text. A key of a connection would replace the header that grpc-js sends itself. */
function canBeSent(key: string, value: unknown): boolean {
  const isReserved = CONNECTION_KEYS.has(key) || key.startsWith(':') || key.endsWith('-bin');
  return !isReserved && typeof value === 'string' && METADATA_TEXT.test(value);
}

/** Options of `grpcUpstream`. */
export interface GrpcUpstreamOptions {
  /**
   * The credentials of the connections: `credentials.createInsecure()`, or `credentials.createSsl()` with the certificates.
   * For TLS to an IP address, use `tlsOptions`.
   */
  readonly credentials: ChannelCredentials;
  /**
   * The maximum size of a response message, in bytes. A larger message becomes a 500, with a line in the log that names
   * this limit. Default: 4 MiB, as in gRPC. A message, its JSON value and its JSON text are in memory at the same time.
   */
  readonly maxReplyBytes?: number | undefined;
  /**
   * The most calls in progress with the same `authorization`. Further unary calls fail with `RESOURCE_EXHAUSTED`, so
   * that one caller cannot occupy all that the server grants this upstream. Default: unlimited.
   */
  readonly maxCallsOfCaller?: number | undefined;
  /** Channel options of grpc-js. Each overrides the default of the same name. */
  readonly channelOptions?: ChannelOptions | undefined;
}

/** An upstream with its own connections. */
export interface GrpcUpstream extends Required<Upstream> {
  /** How many calls ran to their end in vain: their client had left, but so many had that the server could not be told. */
  readonly leftRunning: number;
  /**
   * Switches to other credentials: later calls connect with them, and those in progress run to completion.
   *
   * @throws Error if they are not credentials of grpc-js; then nothing changes.
   */
  readonly renew: (credentials: ChannelCredentials) => void;
  /** Closes all connections. Calls in progress run to completion; later calls fail with `UNAVAILABLE`. */
  readonly close: () => void;
}

/**
 * Creates an upstream that makes one plain grpc-js call for each request. It connects on the first call, reconnects after
 * a lost connection, and opens further connections when 64 calls are in progress on each. A call is sent again only if
 * the server refused it before any work (REFUSED_STREAM), and only once. A call ends at its deadline, which is in
 * wall-clock time and known to the server, or when its client disconnects, of which the server is told if not too many
 * do. For a stream, grpc-js reads up to 16 messages ahead.
 *
 * @param target a target of grpc-js (gRPC's doc/naming.md): `host:port`, `dns:///host:port`, `unix:/path`,
 *   `ipv4:host:port,host:port`. Calls are spread evenly over all its addresses.
 * @throws Error with a one-sentence message if an option is unknown, missing or of another kind.
 */
export function grpcUpstream(target: string, options: GrpcUpstreamOptions): GrpcUpstream {
  const {
    credentials: first,
    maxReplyBytes = MAX_REPLY_BYTES,
    maxCallsOfCaller = Infinity,
    channelOptions,
  } = checkedOptions(options, KINDS, ['credentials']);
  checkedOptions({ target }, { target: TEXT }, ['target']);
  const clientOptions = {
    ...CHANNEL_DEFAULTS,
    'grpc.max_receive_message_length': maxReplyBytes,
    ...channelOptions,
  };
  const figures = { leftRunning: 0, underWay: new CallCounts() };
  const open = (credentials: ChannelCredentials): Connections =>
    new Connections(target, credentials, clientOptions, figures);
  let current = open(first);
  let closed = false;
  /** Why a call is not made, as its reply; undefined if it is made. */
  const replyWithoutCall = ({ cancellation, deadline, metadata }: UnaryCall): UnaryReply | undefined => {
    if (cancellation.cancelled) return clientGoneReply();
    if (deadline <= Date.now()) return deadlineReply();
    if (closed) return unansweredReply(status.UNAVAILABLE, 'The upstream is closed.');
    for (const [key, value] of metadata)
      if (!canBeSent(key, value))
        return unansweredReply(status.INTERNAL, `The metadata ${key} cannot be sent.`);
    return undefined;
  };
  /** Why there is no room for a unary call, as its reply; undefined if there is. */
  const replyWithoutRoom = (call: UnaryCall): UnaryReply | undefined => {
    const { ofCaller, ofMethod } = figures.underWay.of(call);
    if (ofCaller >= maxCallsOfCaller)
      return unansweredReply(status.RESOURCE_EXHAUSTED, `The caller has ${ofCaller} calls in progress.`);
    if (ofMethod >= MAX_CALLS_OF_METHOD)
      return unansweredReply(status.RESOURCE_EXHAUSTED, `${call.path} has ${ofMethod} calls in progress.`);
    return undefined;
  };
  return {
    get leftRunning() {
      return figures.leftRunning;
    },
    unary: (call) => replyWithoutCall(call) ?? replyWithoutRoom(call) ?? current.withRoom().unary(call),
    serverStream(call) {
      const reply = replyWithoutCall(call);
      if (reply !== undefined) return { next: () => Promise.resolve(reply) };
      return current.withRoom().serverStream(call);
    },
    renew(credentials) {
      if (closed) return;
      const next = open(credentials);
      current.retire();
      current = next;
    },
    close() {
      closed = true;
      current.close();
    },
  };
}
