import type { Knex } from 'knex';
import type { InsertOutcome, NewRoute, RouteStore, Signal } from '../registry/route-store.js';
import type { Route } from '../registry/route.js';
import { batched } from './batch.js';
import { type Engine, engineOf } from './database.js';
import { Inserts, keyOf } from './inserts.js';
import { isId, toRoute, tupleOf } from './route-row.js';
import {
  RouteStatements,
  type ServedCall,
  type StatementObserver,
  StatementObservers,
} from './statements.js';

/** A get that is waiting for a route. */
interface Find extends ServedCall {
  readonly id: string;
}

export interface KnexRouteStoreOptions {
  /** Whether a second route of the same shape is stored or refused. All stores of a database must agree. */
  readonly duplicates: 'allow' | 'reject';
  /** Default: none. */
  readonly observers?: readonly StatementObserver[];
  /** Whether the database is known to be away, so that each statement is sent but once; default: never. */
  readonly isAway?: () => boolean;
}

/**
 * Stores routes in a table, on every engine. Concurrent inserts share a commit, and concurrent reads of a kind share a
 * query; all calls of a batch settle together. The store does not close its `Knex` instance.
 */
export class KnexRouteStore implements RouteStore {
  readonly #refusesDuplicates: boolean;
  readonly #engine: Engine;
  readonly #observers: StatementObservers;
  readonly #rows: RouteStatements;
  readonly #inserts: Inserts;
  // A second statement is sent alongside the first as soon as a call is waiting.
  readonly #findJoined = batched({ maxConcurrent: 2, maxConcurrentWhenFull: 4 }, (finds: readonly Find[]) =>
    this.#findAll(finds),
  );

  constructor(knex: Knex, { duplicates, observers = [], isAway = () => false }: KnexRouteStoreOptions) {
    this.#refusesDuplicates = duplicates === 'reject';
    this.#engine = engineOf(knex);
    this.#observers = new StatementObservers(observers);
    this.#rows = new RouteStatements(knex, this.#observers, isAway);
    this.#inserts = new Inserts(this.#rows);
  }

  async insert(entry: NewRoute, signal?: Signal): Promise<InsertOutcome> {
    // The column is unique: a route has its shape only where a second one is refused.
    const stored = { ...entry, shape: this.#refusesDuplicates ? entry.shape : undefined };
    const tuple = tupleOf(stored, this.#engine);
    return this.#inserts.insert({ entry: stored, tuple, bytes: tuple.length, ...this.#served(signal) });
  }

  find(id: string, signal?: Signal): Promise<Route | undefined> {
    if (!isId(id)) return Promise.resolve(undefined);
    return this.#findJoined({ id, ...this.#served(signal) });
  }

  async findByIdempotencyKey(
    caller: string,
    idempotencyKey: string,
    signal?: Signal,
  ): Promise<Route | undefined> {
    const key = { caller, idempotencyKey };
    const stored = await this.#inserts.lookUpOnWriter({ values: { key }, ...this.#served(signal) });
    return stored.get(keyOf(key));
  }

  async findDuplicate(shape: string, signal?: Signal): Promise<string | undefined> {
    if (!this.#refusesDuplicates) return undefined;
    const stored = await this.#inserts.lookUpOnWriter({ values: { shape }, ...this.#served(signal) });
    return stored.get(shape)?.id;
  }

  ping(): Promise<void> {
    return this.#rows.ping();
  }

  /** Captures a call that starts to wait. */
  #served(signal: Signal | undefined): ServedCall {
    return { signal, captured: this.#observers.capture() };
  }

  /** Reads the routes of all finds with one statement; the results are in the order of the finds. */
  async #findAll(finds: readonly Find[]): Promise<(Route | undefined)[]> {
    const ids = finds.map(({ id }) => id);
    const found = await this.#rows.withIds(ids, finds);
    const routes = new Map(found.map(toRoute).map((route) => [route.id, route]));
    return ids.map((id) => routes.get(id));
  }
}
