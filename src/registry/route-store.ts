import type { Route } from './route.js';

/** A create as the store keeps it. */
export interface NewRoute {
  readonly route: Route;
  /** Who creates it: the token's `sub`. */
  readonly caller: string;
  /** The caller's key for this create; absent when the create may happen again. */
  readonly requestId: string | undefined;
  /** What it has in common with its duplicates. */
  readonly shape: string;
}

/** What became of an insert. */
export type InsertOutcome =
  | { readonly outcome: 'inserted' }
  /** Nothing was stored: the caller used this request id before, for `route`. */
  | { readonly outcome: 'repeated'; readonly route: Route }
  /** Nothing was stored: the route `id` has this shape, and duplicates are refused. */
  | { readonly outcome: 'duplicate'; readonly id: string };

/**
 * How routes are kept. Every implementation keeps each of these sentences:
 *
 * - What was inserted is durable when `insert` resolves: it survives a killed process and a killed database.
 * - Text comes back byte for byte, the order and repeats of middleware too, the time to the millisecond.
 * - A stored route never changes.
 * - Of any number of concurrent inserts with one caller and request id, on any number of instances, one is
 *   `inserted` and all others are `repeated` with that one's route. Callers do not share request ids. The
 *   request id is looked at before the shape.
 * - While duplicates are refused, of any number of concurrent inserts with one shape one is `inserted` and
 *   all others are `duplicate` with the id of the first; routes stored while duplicates were allowed count.
 * - Two strings are the same only if every byte is: case, accents and trailing blanks tell them apart.
 * - When the database can't be reached or gives no connection in time, every method fails with a
 *   `RegistryError` of the reason `STORE_UNAVAILABLE`.
 */
export interface RouteStore {
  insert(entry: NewRoute, duplicates: 'allow' | 'reject'): Promise<InsertOutcome>;
  /** The route with this identifier. Any string may be asked for; one that is no identifier is not found. */
  find(id: string): Promise<Route | undefined>;
  /** The route that the caller created with this request id. */
  findByRequestId(caller: string, requestId: string): Promise<Route | undefined>;
  /** The identifier of the first route of this shape. */
  findByShape(shape: string): Promise<string | undefined>;
  /** Resolves when the store can serve. */
  ping(): Promise<void>;
}
