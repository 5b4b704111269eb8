/** The configured limits on incoming traffic. */
export interface GrpcLimits {
  /** The time limit of one unary call, in milliseconds from its headers. */
  readonly deadlineMs: number;
  /** The largest request message, decompressed, in bytes; grpc-js itself ends a call with one over twice that size. */
  readonly maxMessageBytes: number;
  /** Open connections. */
  readonly maxConnections: number;
  /** Open streams of one connection. */
  readonly maxStreams: number;
  /** Calls in progress; an eighth more streams may be open on all connections together. */
  readonly maxCalls: number;
  /** Calls that may wait for the database; half as many streams are shared among the busy connections. */
  readonly maxWaitingCalls: number;
  /** How long a connection without calls may stay silent, in milliseconds. */
  readonly grpcIdleMs: number;
  /** The greatest age of a connection, in milliseconds; 0 for no limit. */
  readonly grpcMaxAgeMs: number;
}

/** Times that are not configurable, in milliseconds. */
export interface GrpcTimes {
  /** How long a client may take to acknowledge the server's settings, and a closed connection to disappear. */
  readonly patienceMs: number;
  /** How long a stream may stay open beyond the time limit of its call. */
  readonly resetMs: number;
  /** How long the request of a reflection call may take. */
  readonly reflectionMs: number;
  /** The interval between pings to a client, which detect lost clients. */
  readonly keepaliveMs: number;
  /** How long a client may take to acknowledge a ping. */
  readonly keepaliveTimeoutMs: number;
  /** The interval between checks of the connections. */
  readonly checkMs: number;
}

export const TIMES: GrpcTimes = {
  patienceMs: 10_000,
  resetMs: 500,
  reflectionMs: 60_000,
  keepaliveMs: 60_000,
  keepaliveTimeoutMs: 20_000,
  checkMs: 100,
};
