import type { Knex } from 'knex';
import type { InsertOutcome, NewRoute, RouteStore, Signal } from '../registry/route-store.js';
import type { Route } from '../registry/route.js';
import { inBatches } from './batch.js';
import { engineOf } from './database.js';
import type { Engine } from './engines/engine.js';
import { ENGINES } from './engines/engines.js';
import { Inserts } from './inserts.js';
import { keyText, LookUps } from './look-ups.js';
import { isId, toRoute } from './route-columns.js';
import { tupleOf } from './route-sql.js';
import { type ServedCall, type StatementObserver, StatementObservers } from './statement-observers.js';
import { RouteStatements } from './statements.js';

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
  readonly #statements: RouteStatements;
  readonly #lookUps: LookUps;
  readonly #inserts: Inserts;
  // A second statement is sent alongside the first as soon as a call is waiting.
  readonly #findJoined = inBatches({ maxConcurrent: 2, maxConcurrentWhenFull: 4 }, (finds: readonly Find[]) =>
    this.#findAll(finds),
  );

  constructor(knex: Knex, { duplicates, observers = [], isAway = () => false }: KnexRouteStoreOptions) {
    this.#refusesDuplicates = duplicates === 'reject';
    this.#engine = ENGINES[engineOf(knex)];
    this.#observers = new StatementObservers(observers);
    this.#statements = new RouteStatements(knex, this.#observers, isAway);
    this.#lookUps = new LookUps(this.#statements);
    this.#inserts = new Inserts(this.#statements, this.#lookUps);
  }

  async insert(entry: NewRoute, signal?: Signal): Promise<InsertOutcome> {
    // The column is unique: a route has its shape only where a second route of that shape is refused.
    const record = { ...entry, shape: this.#refusesDuplicates ? entry.shape : undefined };
    const tuple = tupleOf(record, this.#engine);
    return this.#inserts.insert({ record, tuple, bytes: tuple.length, ...this.#servedCall(signal) });
  }

  find(id: string, signal?: Signal): Promise<Route | undefined> {
    if (!isId(id)) return Promise.resolve(undefined);
    return this.#findJoined({ id, ...this.#servedCall(signal) });
  }

  async findByIdempotencyKey(
    caller: string,
    idempotencyKey: string,
    signal?: Signal,
  ): Promise<Route | undefined> {
    const key = { caller, idempotencyKey };
    const found = await this.#lookUps.onWriter({ values: { key }, ...this.#servedCall(signal) });
    return found.get(keyText(key));
  }

  async findDuplicate(shape: string, signal?: Signal): Promise<string | undefined> {
    if (!this.#refusesDuplicates) return undefined;
    const found = await this.#lookUps.onWriter({ values: { shape }, ...this.#servedCall(signal) });
    return found.get(shape)?.id;
  }

  ping(): Promise<void> {
    return this.#statements.ping();
  }

  /** A call that starts to wait, with what the observers capture of it. */
  #servedCall(signal: Signal | undefined): ServedCall {
    return { signal, capturedByEach: this.#observers.capture() };
  }

  /** Reads the routes of all finds with one statement; the results are in the order of the finds. */
  async #findAll(finds: readonly Find[]): Promise<(Route | undefined)[]> {
    const ids = finds.map(({ id }) => id);
    const found = await this.#statements.withIds(ids, finds);
    const routes = new Map(found.map(toRoute).map((route) => [route.id, route]));
    return ids.map((id) => routes.get(id));
  }
}
