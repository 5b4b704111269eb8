import type { Sample } from '../figures.js';

/** The protocol: gRPC over HTTP/2, or HTTP/1.1. */
export type Wire = 'grpc' | 'http';

/** Number of connections that the gRPC callers share, like callers in a few client processes. */
export const GRPC_CONNECTIONS = 4;

/**
 * What a request does. `echo` sends a route to a server that returns it, `create with key` has a request id of its own,
 * and of `create, 1 % repeats`, each hundredth repeats the same one.
 */
export type Operation = 'get' | 'create' | 'create with key' | 'create, 1 % repeats' | 'echo';

/**
 * Which stored routes are requested:
 * - `hot`: always the first
 * - `uniform`: any, with equal probability
 * - `once`: one after the other, none twice
 * - `thousand`: any of a thousand, spread evenly over all
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
  /** Number of stored routes. */
  readonly stored: number;
  /** The first route to request with the pick `once`. */
  readonly from: number;
  /** Number of callers, each with at most one request in flight. */
  readonly callers: number;
  /** How long requests are sent before the measurement, and during it. */
  readonly warmUpMs: number;
  readonly durationMs: number;
  /** The processes of the server under test, whose CPU time is added up. */
  readonly serverPids: readonly number[];
  readonly databasePid?: number;
}

/** The result of one run of the load generator. */
export interface LoadResult {
  readonly sample: Sample;
  /** The first route that the next run with the pick `once` may request. */
  readonly next: number;
}

/** Sends the request for the n-th route and resolves on a successful response. @throws Error on any other */
export type Call = (n: number) => Promise<void>;
