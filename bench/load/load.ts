import type { Sample } from '../figures.js';

/** The protocol: gRPC over HTTP/2, or HTTP/1.1. */
export type Wire = 'grpc' | 'http';

/** Connections that gRPC callers share, as those of a few client processes would. */
export const GRPC_CONNECTIONS = 4;

/** The action of one request. `echo` sends a whole route to a server that sends it back. */
export type Operation = 'get' | 'create' | 'echo';

/**
 * Which stored routes are asked for:
 * - `hot`: always the first
 * - `uniform`: any, equally often
 * - `once`: one after the other, none twice
 * - `thousand`: any of a thousand that lie evenly spread among all
 */
export type Pick = 'hot' | 'uniform' | 'once' | 'thousand';

/** The requests that one run of the load generator sends. */
export interface Load {
  readonly wire: Wire;
  readonly operation: Operation;
  readonly pick: Pick;
  /** `host:port` of the server. */
  readonly target: string;
  /** The bearer token that every request carries. */
  readonly token: string;
  /** How many routes are stored. */
  readonly stored: number;
  /** The first route of the pick `once`. */
  readonly from: number;
  /** How many callers there are, each with at most one request under way. */
  readonly callers: number;
  /** How long requests are sent before anything is measured, and how long while it is. */
  readonly warmUpMs: number;
  readonly durationMs: number;
  /** Requests a second of an open loop; absent for a closed one, where each answer is followed by a request. */
  readonly rate?: number;
  /** The processes of the server under test, whose CPU time is added up. */
  readonly serverPids: readonly number[];
  readonly databasePid?: number;
}

/** The result of one run of the load generator. */
export interface LoadResult {
  readonly sample: Sample;
  /** First route that a following run of the pick `once` may ask for. */
  readonly next: number;
  /** Begin and end of the measured time by the monotonic clock, in microseconds. */
  readonly windowUs: readonly [number, number];
}

/** Sends the request for the n-th route and resolves when it is answered well. @throws Error otherwise */
export type Call = (n: number) => Promise<void>;
