import type { Knex } from 'knex';
import type { InsertOutcome, NewRoute, RouteStore, Signal } from '../registry/route-store.js';
import type { Route } from '../registry/route.js';
import { batched } from './batch.js';
import { type Insert, InsertBatches } from './insert-batches.js';
import {
  encodeId,
  mostBytes,
  type StoredRoute,
  toRoute,
  toRow,
  toStored,
  type UniqueValues,
} from './route-row.js';
import { RouteRows, type ServedCall, type StatementObserver, StatementObservers } from './statements.js';

/** A get that is waiting for a route. */
interface Find extends ServedCall {
  readonly id: string;
  /** The same id in the database's form. */
  readonly key: Buffer;
}

/** A check that is waiting for the route of a key or shape. */
interface LookUp extends ServedCall {
  readonly values: UniqueValues;
  readonly isIt: (stored: StoredRoute) => boolean;
}

/**
 * Stores routes in a table, on every engine. Concurrent inserts share a commit, and concurrent reads of a kind share a
 * query; all calls of a batch settle together. The store does not close its `Knex` instance.
 */
export class KnexRouteStore implements RouteStore {
  readonly #observers: StatementObservers;
  readonly #rows: RouteRows;
  readonly #insertJoined: (insert: Insert) => Promise<InsertOutcome>;
  readonly #findJoined = batched('at once', (finds: readonly Find[]) => this.#findAll(finds));
  readonly #lookUpJoined = batched('in turn', (lookUps: readonly LookUp[]) => this.#lookUpAll(lookUps));

  constructor(knex: Knex, observers: readonly StatementObserver[] = []) {
    this.#observers = new StatementObservers(observers);
    this.#rows = new RouteRows(knex, this.#observers);
    const batches = new InsertBatches(this.#rows);
    this.#insertJoined = batched('when full', (inserts) => batches.insert(inserts));
  }

  async insert(entry: NewRoute, duplicates: 'allow' | 'reject', signal?: Signal): Promise<InsertOutcome> {
    const row = toRow(entry);
    return this.#insertJoined({ entry, row, bytes: mostBytes(row), duplicates, ...this.#served(signal) });
  }

  find(id: string, signal?: Signal): Promise<Route | undefined> {
    const key = encodeId(id);
    if (key === undefined) return Promise.resolve(undefined);
    return this.#findJoined({ id, key, ...this.#served(signal) });
  }

  async findByIdempotencyKey(
    caller: string,
    idempotencyKey: string,
    signal?: Signal,
  ): Promise<Route | undefined> {
    const stored = await this.#lookUpJoined({
      values: { key: { caller: Buffer.from(caller), request_id: Buffer.from(idempotencyKey) } },
      isIt: (each) => each.caller === caller && each.idempotencyKey === idempotencyKey,
      ...this.#served(signal),
    });
    return stored?.route;
  }

  async findByShape(shape: string, signal?: Signal): Promise<string | undefined> {
    const stored = await this.#lookUpJoined({
      values: { shape: Buffer.from(shape) },
      isIt: (each) => each.shape === shape,
      ...this.#served(signal),
    });
    return stored?.route.id;
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
    const keys = finds.map(({ key }) => key);
    const found = await this.#rows.withIds(keys, finds);
    const routes = new Map(found.map(toRoute).map((route) => [route.id, route]));
    return finds.map(({ id }) => routes.get(id));
  }

  /** Looks up all routes with one statement, on the writer, so that a check finds what a create would find. */
  async #lookUpAll(lookUps: readonly LookUp[]): Promise<(StoredRoute | undefined)[]> {
    const values = lookUps.map((each) => each.values);
    const stored = (await this.#rows.lookUpOnWriter(values, lookUps)).map(toStored);
    return lookUps.map(({ isIt }) => stored.find(isIt));
  }
}
