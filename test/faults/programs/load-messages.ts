// What the programs `load.ts` and `neighbours.ts` take as their argument, and what `load.ts` prints at its end.

/** What each call of a load does. */
export type LoadOperation =
  /** Creates a route that no other call creates, without a request id. */
  | 'create'
  /** Creates such a route, too, but with a request id of its own. */
  | 'keyed create'
  /** Two calls in a row are the same keyed create, as when a client hedges. */
  | 'hedged create'
  /** Creates one and the same route, with one and the same request id. */
  | 'repeat'
  /** Creates one and the same route, without a request id. */
  | 'duplicate'
  /** Creates one and the same route, with a request id of its own. */
  | 'keyed duplicate'
  /** Checks one and the same route, without creating it. */
  | 'dry run'
  /** Gets the next of the routes with `ids`. */
  | 'get';

/** The calls that one run of the load program makes. */
export interface Load {
  /** `host:port` of the gRPC server. */
  readonly target: string;
  readonly operation: LoadOperation;
  readonly token: string;
  /** The tokens of the connections, in turn; default: `token` for all. */
  readonly tokens?: readonly string[];
  /** The ids of the routes that the operation `get` gets, in turn; empty for all others. */
  readonly ids: readonly string[];
  /** Routes are created with consecutive numbers in their paths, from this one on; default: one that no other load has. */
  readonly first?: number;
  /** Of the operation `create`, one call in this many is a `repeat` instead; default: none. */
  readonly repeatEach?: number;
  readonly connections: number;
  /** Whether the connections ignore the server's settings, such as its stream limit. */
  readonly heedless: boolean;
  readonly durationMs: number;
  /**
   * How many calls become due per second, however many are under way: an open loop. Default: a closed loop, in which a call
   * is due whenever fewer than `callers` are under way.
   */
  readonly rate?: number;
  /** The deadline that each call states, in milliseconds; default: none. */
  readonly timeoutMs?: number;
  /** After how long a caller gives up a call that has not ended, in milliseconds; default: never. */
  readonly leaveAfterMs?: number;
  /** The most calls under way at a time. */
  readonly callers: number;
}

/** Connections that each make a health check now and then, beside the load that a test measures. */
export interface Neighbours {
  /** `host:port` of the gRPC server. */
  readonly target: string;
  readonly connections: number;
  /** How often each of them makes a health check, in milliseconds. */
  readonly everyMs: number;
  /** How much of a response each of them takes, in bytes: the initial flow-control window of a stream. */
  readonly window: number;
}

/** What came of a load. */
export interface LoadResult {
  /** How many calls became due; for a closed loop, `Number.MAX_SAFE_INTEGER`. */
  readonly due: number;
  /** How many of them were sent. The others had no room, by `callers` or by the server's stream limits. */
  readonly sent: number;
  /** Successful calls per second while the load lasted. */
  readonly goodRate: number;
  /** How many calls ended with each status. */
  readonly ends: Readonly<Record<number, number>>;
  /** The 99th percentile of the time from sending a call to its success, in milliseconds; 0 if none succeeded. */
  readonly goodP99Ms: number;
  /** As `goodP99Ms`, of the calls that were refused with RESOURCE_EXHAUSTED. */
  readonly refusedP99Ms: number;
  /** The lowest of the stream limits that the server has last announced to the connections; 0 if one has ended. */
  readonly leastStreamLimit: number;
  /** The number in the path of the first created route; see `Load.first`. */
  readonly first: number;
  /** The status of each call that was sent, one byte each in the order of sending, as Base64. */
  readonly statuses: string;
}
