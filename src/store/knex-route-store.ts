import type { Knex } from 'knex';
import type { InsertOutcome, NewRoute, RouteStore, Signal } from '../registry/route-store.js';
import type { Route } from '../registry/route.js';
import { batched } from './batch.js';
import { Inserts } from './inserts.js';
import { LookUps } from './look-ups.js';
import { encodeId, mostBytes, toRoute, toRow } from './route-row.js';
import {
  RouteStatements,
  type ServedCall,
  type StatementObserver,
  StatementObservers,
} from './statements.js';

/** A get that is waiting for a route. */
interface Find extends ServedCall {
  readonly id: string;
  /** The same id in the database's form. */
  readonly key: Buffer;
}

/**
 * Stores routes in a table, on every engine. Concurrent inserts share a commit, and concurrent reads of a kind share a
 * query; all calls of a batch settle together. The store does not close its `Knex` instance.
 */
export class KnexRouteStore implements RouteStore {
  readonly #observers: StatementObservers;
  readonly #rows: RouteStatements;
  readonly #lookUps: LookUps;
  readonly #inserts: Inserts;
  readonly #findJoined = batched('at once', (finds: readonly Find[]) => this.#findAll(finds));

  constructor(knex: Knex, observers: readonly StatementObserver[] = []) {
    this.#observers = new StatementObservers(observers);
    this.#rows = new RouteStatements(knex, this.#observers);
    this.#lookUps = new LookUps(this.#rows);
    this.#inserts = new Inserts(this.#rows, this.#lookUps);
  }

  async insert(entry: NewRoute, duplicates: 'allow' | 'reject', signal?: Signal): Promise<InsertOutcome> {
    const row = toRow(entry);
    return this.#inserts.insert({ entry, row, bytes: mostBytes(row), duplicates, ...this.#served(signal) });
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
    const key = { caller: Buffer.from(caller), request_id: Buffer.from(idempotencyKey) };
    const stored = await this.#lookUps.onWriter({ values: { key }, ...this.#served(signal) });
    return stored.withKeyOf({ caller, idempotencyKey });
  }

  async findByShape(shape: string, signal?: Signal): Promise<string | undefined> {
    const values = { shape: Buffer.from(shape) };
    const stored = await this.#lookUps.onWriter({ values, ...this.#served(signal) });
    return stored.firstOf(shape)?.id;
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
}
