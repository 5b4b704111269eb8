import type { Route } from './route.js';

/** A create, as the store receives it. */
export interface NewRoute {
  readonly route: Route;
  /** The caller: the token's `sub`. */
  readonly caller: string;
  /** The caller's idempotency key, its `request_id`. If undefined, a repeat creates another route. */
  readonly idempotencyKey: string | undefined;
  /** The text that duplicates share. */
  readonly shape: string;
}

/** The result of an insert. */
export type InsertOutcome =
  | { readonly outcome: 'inserted' }
  /** Nothing was stored: the caller already used this idempotency key, for `route`. */
  | { readonly outcome: 'repeated'; readonly route: Route }
  /** Nothing was stored: the route `id` has this shape, and duplicates are refused. */
  | { readonly outcome: 'duplicate'; readonly id: string };

/** Aborted when nobody waits for the outcome any longer. */
export type Signal = Pick<AbortSignal, 'aborted'>;

/**
 * The storage of routes. Every implementation guarantees that:
 *
 * - An inserted route is durable when `insert` resolves: it survives a killed process and a killed database. From then
 *   on, every instance finds it.
 * - Text is returned byte for byte, middleware with its order and repeats, and the time to the millisecond.
 * - A stored route never changes.
 * - Of any number of concurrent inserts with the same caller and idempotency key, on any number of instances, one is
 *   `inserted` and all others are `repeated` with its route. Callers do not share keys. The key is checked before the
 *   shape.
 * - If the store refuses duplicates, of any number of concurrent inserts with the same shape, one is `inserted` and all
 *   others are `duplicate` with the id of the first. Routes that a store that allows them has stored count once they
 *   are counted (`src/store/duplicates.ts`).
 * - Two strings are equal only if all their bytes are: case, accents and trailing spaces make a difference.
 * - When the database cannot be reached or provides no connection in time, every method fails with a `Failure` with
 *   the reason `STORE_UNAVAILABLE`. An insert that fails in this way may have been stored.
 * - An insert that the store has to send more than once is stored once, and is not a repeat or duplicate of itself.
 * - An insert under the identifier of another route, or under text that is no UUID in canonical lower case, stores nothing
 *   and rejects.
 * - A method whose signal is aborted before its statement is sent sends nothing, stores nothing, and rejects.
 */
export interface RouteStore {
  insert(entry: NewRoute, signal?: Signal): Promise<InsertOutcome>;
  /** The route with this identifier. Any string is allowed; a string that is not an identifier is not found. */
  find(id: string, signal?: Signal): Promise<Route | undefined>;
  /** The route that the caller created with this idempotency key. */
  findByIdempotencyKey(caller: string, idempotencyKey: string, signal?: Signal): Promise<Route | undefined>;
  /** The identifier of the first route of this shape, if the store refuses duplicates. */
  findDuplicate(shape: string, signal?: Signal): Promise<string | undefined>;
  /** Resolves when the store is ready to serve. */
  ping(): Promise<void>;
}
