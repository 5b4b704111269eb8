/** How calls end that get no gRPC status: codes that gRPC does not have. */
/** The stream was reset with REFUSED_STREAM: the request was not processed (RFC 9113 section 8.7). */
export const STREAM_REFUSED = 100;
export const STREAM_RESET = 101;
export const CONNECTION_LOST = 102;
export const NOT_ANSWERED = 103;

/** The calls that one run of the load program makes. */
export interface Load {
  /** `host:port` of the gRPC server. */
  readonly target: string;
  readonly operation: 'create' | 'get';
  readonly token: string;
  /** The ids that gets ask for. */
  readonly ids: readonly string[];
  readonly connections: number;
  /** Whether the connections heed no settings of the server, such as its limit on streams. */
  readonly heedless: boolean;
  readonly durationMs: number;
  /** Calls a second of an open loop; absent for a closed one. */
  readonly rate?: number;
  /** The most calls under way: what a closed loop keeps up, and the end of an open one's patience with no limit. */
  readonly callers: number;
}

/** The results of a run of the load program. */
export interface LoadResult {
  /** Calls that were due, and those of them that the stream limit let through. */
  readonly due: number;
  readonly sent: number;
  /** Calls a second that ended well while the load went on. */
  readonly goodRate: number;
  /** How many calls ended with each status. */
  readonly ends: Readonly<Record<number, number>>;
  /** Times of calls from their sending, in milliseconds, 0 without any. */
  readonly goodP99Ms: number;
  readonly refusedP99Ms: number;
  /** The number of the first created route; the others count on from it. */
  readonly first: number;
  /** The status of each call that was sent, one byte each in the order of sending, as Base64. */
  readonly statuses: string;
}
