import type { Knex } from 'knex';
import { LRUCache } from 'lru-cache';
import type { InsertOutcome, NewRoute, RouteStore, Signal } from '../registry/route-store.js';
import { type Route, sameDefinition } from '../registry/route.js';
import { batched, NotSent } from './batch.js';
import { decodeId, encodeId, type NewRouteRow, toRoute, toRow } from './route-row.js';
import { type ReadRow, RouteRows, type ServedCall } from './route-rows.js';
import { type StatementObserver, StatementObservers } from './statement-observer.js';

/** The most shapes remembered as having a first route, so that a duplicate does not try to become the first. */
const MAX_KNOWN_SHAPES = 10_000;

interface Insert extends ServedCall {
  readonly entry: NewRoute;
  readonly duplicates: 'allow' | 'reject';
}

/** A get that is waiting for a route. */
interface Find extends ServedCall {
  readonly id: string;
  /** The same id in the database's form. */
  readonly key: Buffer;
}

/**
 * Stores routes in a table, on every engine. Concurrent inserts share a commit, and concurrent finds share a query; all
 * calls of a batch settle together. The store does not close its `Knex` instance.
 */
export class KnexRouteStore implements RouteStore {
  readonly #observers: StatementObservers;
  readonly #rows: RouteRows;
  readonly #knownShapes = new LRUCache<string, true>({ max: MAX_KNOWN_SHAPES });
  readonly #insertJoined = batched('when full', (inserts: readonly Insert[]) => this.#insertAll(inserts));
  readonly #findJoined = batched('at once', (finds: readonly Find[]) => this.#findAll(finds));

  constructor(knex: Knex, observers: readonly StatementObserver[] = []) {
    this.#observers = new StatementObservers(observers);
    this.#rows = new RouteRows(knex, this.#observers);
  }

  insert(entry: NewRoute, duplicates: 'allow' | 'reject', signal?: Signal): Promise<InsertOutcome> {
    return this.#insertJoined({ entry, duplicates, ...this.#served(signal) });
  }

  find(id: string, signal?: Signal): Promise<Route | undefined> {
    const key = encodeId(id);
    if (key === undefined) return Promise.resolve(undefined);
    return this.#findJoined({ id, key, ...this.#served(signal) });
  }

  findByIdempotencyKey(caller: string, idempotencyKey: string, signal?: Signal): Promise<Route | undefined> {
    return this.#rows.read(this.#served(signal), (read) => routeOfKey(read, caller, idempotencyKey));
  }

  findByShape(shape: string, signal?: Signal): Promise<string | undefined> {
    return this.#rows.read(this.#served(signal), (read) => firstOfShape(read, shape));
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

  /** Inserts all entries in one commit; if one of them prevents that, or is no longer wanted, each separately. */
  async #insertAll(inserts: readonly Insert[]): Promise<(InsertOutcome | Error)[]> {
    if (inserts.length > 1 && (await this.#insertTogether(inserts))) {
      for (const { entry } of inserts) this.#knownShapes.set(entry.shape, true);
      return inserts.map(() => ({ outcome: 'inserted' }));
    }
    const settled = await Promise.allSettled(
      inserts.map((insert) => this.#insertOne(insert, this.#toRow(insert))),
    );
    return settled.map((result) => (result.status === 'fulfilled' ? result.value : (result.reason as Error)));
  }

  async #insertTogether(inserts: readonly Insert[]): Promise<boolean> {
    const refusal = await this.#rows.insert(this.#toRows(inserts), inserts);
    return refusal === undefined;
  }

  async #insertOne(insert: Insert, row: NewRouteRow): Promise<InsertOutcome> {
    const refusal = await this.#rows.insert([row], [insert]);
    if (refusal === undefined) {
      this.#knownShapes.set(insert.entry.shape, true);
      return { outcome: 'inserted' };
    }
    if (refusal instanceof NotSent) throw refusal;
    const outcome = await this.#rows.read(insert, (read) => outcomeOf(read, insert.entry, row));
    if (outcome === undefined) throw refusal;
    if (outcome.outcome !== 'duplicate' || insert.duplicates === 'reject') return outcome;
    return this.#insertOne(insert, { ...row, shape: null });
  }

  /** The first route of a shape holds the shape in the unique index; later routes are stored without it. */
  #toRow({ entry, duplicates }: Insert): NewRouteRow {
    const row = toRow(entry);
    return duplicates === 'allow' && this.#knownShapes.has(entry.shape) ? { ...row, shape: null } : row;
  }

  #toRows(inserts: readonly Insert[]): NewRouteRow[] {
    const shapes = new Set<string>();
    return inserts.map((insert) => {
      const row = this.#toRow(insert);
      const later = insert.duplicates === 'allow' && shapes.has(insert.entry.shape);
      shapes.add(insert.entry.shape);
      return later ? { ...row, shape: null } : row;
    });
  }
}

/** The outcome of an insert that the database refused, by the rows it has; undefined if no row explains the refusal. */
async function outcomeOf(
  read: ReadRow,
  { route, caller, idempotencyKey, shape }: NewRoute,
  row: NewRouteRow,
): Promise<InsertOutcome | undefined> {
  if (await isStored(read, row, route)) return { outcome: 'inserted' };
  const repeated = idempotencyKey === undefined ? undefined : await routeOfKey(read, caller, idempotencyKey);
  if (repeated !== undefined) return { outcome: 'repeated', route: repeated };
  const id = row.shape === null ? undefined : await firstOfShape(read, shape);
  return id === undefined ? undefined : { outcome: 'duplicate', id };
}

/** Whether this very route is stored, by an earlier attempt of the service or of a proxy that got no response. */
async function isStored(read: ReadRow, { id }: NewRouteRow, route: Route): Promise<boolean> {
  const row = await read({ id });
  if (row === undefined) return false;
  const stored = toRoute(row);
  return sameDefinition(stored, route) && stored.createdAt.getTime() === route.createdAt.getTime();
}

async function routeOfKey(read: ReadRow, caller: string, idempotencyKey: string): Promise<Route | undefined> {
  const row = await read({ caller: Buffer.from(caller), request_id: Buffer.from(idempotencyKey) });
  return row === undefined ? undefined : toRoute(row);
}

async function firstOfShape(read: ReadRow, shape: string): Promise<string | undefined> {
  const row = await read({ shape: Buffer.from(shape) });
  return row === undefined ? undefined : decodeId(row.id);
}
