/**
 * What each call does. A `repeat` creates one route with one request id, a `duplicate` one route without, a
 * `keyed duplicate` one route with ever-new request ids, and a `dry run` checks that route. A `keyed create` creates
 * another route with another request id each time, and a `hedged create` each of these twice.
 */
export type LoadOperation =
  | 'create'
  | 'get'
  | 'repeat'
  | 'duplicate'
  | 'keyed duplicate'
  | 'dry run'
  | 'keyed create'
  | 'hedged create';

/** The calls that one run of the load program makes. */
export interface Load {
  /** `host:port` of the gRPC server. */
  readonly target: string;
  readonly operation: LoadOperation;
  readonly token: string;
  /** Those of the connections, in turn; default: `token`. */
  readonly tokens?: readonly string[];
  /** The ids that gets request. */
  readonly ids: readonly string[];
  /** The number of the first created route; default: one that no other load has. */
  readonly first?: number;
  /** Among creates, one in this many is a `repeat` instead; absent: none. */
  readonly repeatEach?: number;
  readonly connections: number;
  /** Whether the connections ignore the server's settings, such as its stream limit. */
  readonly heedless: boolean;
  readonly durationMs: number;
  /** Calls per second of an open loop; absent for a closed loop. */
  readonly rate?: number;
  /** The deadline of each call, as its caller states it, in milliseconds; absent: none. */
  readonly timeoutMs?: number;
  /** When a caller leaves a call that has not ended, in milliseconds; absent: never. */
  readonly leaveAfterMs?: number;
  /** The most calls under way. A closed loop keeps this many; an open loop sends no further calls beyond them. */
  readonly callers: number;
}

/** The connections beside a load. */
export interface Neighbours {
  /** `host:port` of the gRPC server. */
  readonly target: string;
  readonly connections: number;
  /** How often each of them makes a health check, in milliseconds. */
  readonly everyMs: number;
  /** The flow-control window of each response, in bytes; 0 to take none. */
  readonly window: number;
}

/** The results of a run of the load program. */
export interface LoadResult {
  /** The number of calls that were due, and of those that the stream limit allowed to be sent. */
  readonly due: number;
  readonly sent: number;
  /** Successful calls per second while the load lasted. */
  readonly goodRate: number;
  /** How many calls ended with each status. */
  readonly ends: Readonly<Record<number, number>>;
  /** Durations since the calls were sent, in milliseconds; 0 without any. */
  readonly goodP99Ms: number;
  readonly refusedP99Ms: number;
  /** The fewest streams that one of the connections might have open in the end. */
  readonly streams: number;
  /** The number of the first created route; the others have consecutive numbers. */
  readonly first: number;
  /** The status of each call that was sent, one byte each in the order of sending, as Base64. */
  readonly statuses: string;
}
