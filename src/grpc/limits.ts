/** The bounds on what comes in, as the settings give them. */
export interface GrpcLimits {
  /** The longest time of one unary call, in milliseconds, from its first byte on. */
  readonly deadlineMs: number;
  /** The largest request message, in bytes, on the wire and inflated. */
  readonly maxMessageBytes: number;
  /** The longest path of a call that is kept, in bytes. */
  readonly maxCallPathBytes: number;
  /** All trailers of one answer, in bytes. */
  readonly maxTrailerBytes: number;
  /** Open connections. */
  readonly maxConnections: number;
  /** Open streams of one connection. */
  readonly maxStreams: number;
  /** Streaming calls of all connections. */
  readonly maxStreamingCalls: number;
  /** Calls that may wait for the database; half as many streams are shared among the busy connections. */
  readonly maxWaitingCalls: number;
  /** How long a connection without calls may be silent, in milliseconds. */
  readonly grpcIdleMs: number;
  /** How old a connection may become, in milliseconds; 0 for any age. */
  readonly grpcMaxAgeMs: number;
}

/** Times that are no settings, in milliseconds. */
export interface GrpcTimes {
  /** How long a client may take to begin with HTTP/2, and a closed connection to go. */
  readonly patienceMs: number;
  /**
   * How long a stream may stay open when its call has reached its limit, since its client takes no answer, or when it has
   * been answered, and its client goes on with the request.
   */
  readonly unreadMs: number;
  /** The longest reflection call. */
  readonly reflectionMs: number;
  /** The time between two pings to a client, which find those that are gone. */
  readonly keepaliveMs: number;
  /** How long a client may take to answer a ping. */
  readonly keepaliveTimeoutMs: number;
  /** The time between two looks at the connections. */
  readonly lookMs: number;
}

export const TIMES: GrpcTimes = {
  patienceMs: 10_000,
  unreadMs: 2_000,
  reflectionMs: 60_000,
  keepaliveMs: 60_000,
  keepaliveTimeoutMs: 20_000,
  lookMs: 100,
};
