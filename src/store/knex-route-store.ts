import type { Knex } from 'knex';
import { LRUCache } from 'lru-cache';
import type { InsertOutcome, NewRoute, RouteStore, Signal } from '../registry/route-store.js';
import { type Route, sameDefinition } from '../registry/route.js';
import { batched, isWanted, NotSent } from './batch.js';
import { isConflict } from './driver-errors.js';
import {
  encodeId,
  mostBytes,
  type NewRouteRow,
  type StoredRoute,
  type StoredRow,
  toRoute,
  toRow,
  toStored,
  type UniqueValues,
} from './route-row.js';
import {
  RouteStatements,
  type RowOfCall,
  type ServedCall,
  type StatementObserver,
  StatementObservers,
} from './statements.js';

/** The most shapes remembered as having a first route, so that a duplicate does not try to become the first. */
const MAX_KNOWN_SHAPES = 10_000;
/** The most inserts of one batch before it is divided: each round settles what stood in the way of the one before. */
const MAX_ROUNDS = 4;
/** How long batches look for repeats first after there has been one, in milliseconds. */
const LOOK_FIRST_MS = 1_000;

const INSERTED: InsertOutcome = { outcome: 'inserted' };

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
  readonly #rows: RouteStatements;
  readonly #insertJoined: (insert: Insert) => Promise<InsertOutcome>;
  readonly #findJoined = batched('at once', (finds: readonly Find[]) => this.#findAll(finds));
  readonly #lookUpJoined = batched('in turn', (lookUps: readonly LookUp[]) => this.#lookUpAll(lookUps));

  constructor(knex: Knex, observers: readonly StatementObserver[] = []) {
    this.#observers = new StatementObservers(observers);
    this.#rows = new RouteStatements(knex, this.#observers);
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

/** An insert that waits for its batch. */
interface Insert extends ServedCall {
  readonly entry: NewRoute;
  readonly row: NewRouteRow;
  readonly duplicates: 'allow' | 'reject';
}

/** The outcomes of a batch, as they become known. */
type Outcomes = Map<Insert, InsertOutcome | Error>;

/**
 * Inserts batches of routes, each in one commit. A repeat or a duplicate among them makes the database refuse the whole
 * batch; one look-up for all then tells which routes are stored already, and the rest is inserted together. A row that
 * the database refuses for itself is found by halving the batch, and fails alone.
 */
class InsertBatches {
  readonly #rows: RouteStatements;
  readonly #knownShapes = new LRUCache<string, true>({ max: MAX_KNOWN_SHAPES });
  #looksFirstUntil = 0;

  constructor(rows: RouteStatements) {
    this.#rows = rows;
  }

  /** Inserts all entries, and resolves with their outcomes in the same order. What settles one fails no other. */
  async insert(inserts: readonly Insert[]): Promise<(InsertOutcome | Error)[]> {
    const outcomes: Outcomes = new Map();
    let failure: unknown;
    try {
      await this.#insertOpen(await this.#settleRepeats(inserts, outcomes), outcomes);
    } catch (error) {
      failure = error;
    }
    return inserts.map((insert) => outcomes.get(insert) ?? this.#rows.failureOf(insert, failure));
  }

  /** Inserts those that have no outcome yet. */
  async #insertOpen(inserts: readonly Insert[], outcomes: Outcomes): Promise<void> {
    let open = inserts;
    let refusal: unknown;
    for (let round = 1; round <= MAX_ROUNDS && open.length > 0; round++) {
      const inserted = await this.#rows.insert(open, (wanted) => this.#firstsOf(wanted));
      ({ refusal } = inserted);
      if (refusal === undefined) {
        if (inserted.sent.length === open.length) {
          this.#allInserted(inserted.sent, outcomes);
          return;
        }
        open = this.#settle(open, inserted.sent.map(storedBy), outcomes, { complete: false });
      } else if (isConflict(refusal)) {
        this.#lookFirst();
        const stored = await this.#rows.lookUpOnWriter(open.map(uniqueValuesOf), open);
        open = this.#settle(open, stored.map(toStored), outcomes, { complete: true });
      } else {
        break;
      }
      open = stillWanted(open, outcomes);
    }
    const [first, ...others] = open;
    if (first === undefined) return;
    if (others.length === 0 && refusal !== undefined) {
      outcomes.set(first, this.#rows.failureOf(first, this.#rows.translated(refusal)));
      return;
    }
    const half = open.length >> 1;
    for (const part of [open.slice(0, half), open.slice(half)]) {
      try {
        await this.#insertOpen(part, outcomes);
      } catch (error) {
        // Nobody wants the rest of this part any longer, but perhaps the other part.
        if (!(error instanceof NotSent)) throw error;
        for (const insert of part) if (!outcomes.has(insert)) outcomes.set(insert, error);
      }
    }
  }

  /** While there are repeats, a cheap look-up settles most of them before they stand in the way of a batch. */
  async #settleRepeats(inserts: readonly Insert[], outcomes: Outcomes): Promise<readonly Insert[]> {
    if (performance.now() >= this.#looksFirstUntil) return inserts;
    const values = inserts.flatMap((insert) => decisiveValuesOf(insert) ?? []);
    if (values.length === 0) return inserts;
    let stored: StoredRow[];
    try {
      stored = await this.#rows.lookUp(values, inserts);
    } catch (error) {
      // Behind a load balancer, this may be a reader's failure, which is none of the writer's.
      if (error instanceof NotSent) throw error;
      this.#looksFirstUntil = 0;
      return inserts;
    }
    if (stored.length > 0) this.#lookFirst();
    return this.#settle(inserts, stored.map(toStored), outcomes, { complete: false });
  }

  #lookFirst(): void {
    this.#looksFirstUntil = performance.now() + LOOK_FIRST_MS;
  }

  /**
   * The rows to insert at once: of those with the same key, and of those with the same shape while duplicates are
   * refused, the first. The first route of a shape holds it in the unique index; later ones are stored without it.
   */
  #firstsOf(inserts: readonly Insert[]): RowOfCall<Insert>[] {
    const keys = new Set<string>();
    const shapes = new Set<string>();
    const firsts: RowOfCall<Insert>[] = [];
    for (const call of inserts) {
      const { entry, row, duplicates } = call;
      const { shape } = entry;
      const key = keyOf(entry);
      if (key !== undefined && keys.has(key)) continue;
      if (shapes.has(shape) && duplicates === 'reject') continue;
      const later = duplicates === 'allow' && (shapes.has(shape) || this.#knownShapes.has(shape));
      if (key !== undefined) keys.add(key);
      shapes.add(shape);
      firsts.push({ call, row: later ? { ...row, shape: null } : row });
    }
    return firsts;
  }

  #allInserted(rows: readonly RowOfCall<Insert>[], outcomes: Outcomes): void {
    for (const { call, row } of rows) {
      outcomes.set(call, INSERTED);
      if (row.shape !== null) this.#knownShapes.set(call.entry.shape, true);
    }
  }

  /**
   * Settles the inserts whose outcome follows from routes that are stored.
   *
   * @param complete whether these are all stored routes that stand in the way of the inserts
   * @returns the inserts that are still open
   */
  #settle(
    inserts: readonly Insert[],
    stored: readonly StoredRoute[],
    outcomes: Outcomes,
    { complete }: { readonly complete: boolean },
  ): readonly Insert[] {
    const ids = new Map(stored.map(({ route }) => [route.id, route]));
    const keys = new Map(stored.map((each) => [keyOf(each), each.route]));
    const shapes = new Map(stored.map(({ shape, route }) => [shape, route.id]));
    for (const shape of shapes.keys()) if (shape !== undefined) this.#knownShapes.set(shape, true);
    return inserts.filter((insert) => {
      const { entry, duplicates } = insert;
      const key = keyOf(entry);
      const own = ids.get(entry.route.id);
      const earlier = key === undefined ? undefined : keys.get(key);
      const first = shapes.get(entry.shape);
      if (own !== undefined && isSame(own, entry.route)) {
        outcomes.set(insert, INSERTED);
      } else if (earlier !== undefined) {
        outcomes.set(insert, { outcome: 'repeated', route: earlier });
      } else if (first !== undefined && duplicates === 'reject' && (complete || key === undefined)) {
        outcomes.set(insert, { outcome: 'duplicate', id: first });
      }
      return !outcomes.has(insert);
    });
  }
}

/** Leaves out those that are not wanted any longer. */
function stillWanted(inserts: readonly Insert[], outcomes: Outcomes): readonly Insert[] {
  return inserts.filter((insert) => {
    const wanted = isWanted(insert);
    if (!wanted) outcomes.set(insert, new NotSent());
    return wanted;
  });
}

/** Whether this very route is stored, by an earlier attempt of the service or of a proxy that got no response. */
function isSame(stored: Route, route: Route): boolean {
  return sameDefinition(stored, route) && stored.createdAt.getTime() === route.createdAt.getTime();
}

/** The route that is stored by a row. */
function storedBy({ call: { entry }, row }: RowOfCall<Insert>): StoredRoute {
  return row.shape === null ? { ...entry, shape: undefined } : entry;
}

/** A text that two routes share only if they have the same caller and idempotency key. */
function keyOf({ caller, idempotencyKey }: Pick<NewRoute, 'caller' | 'idempotencyKey'>): string | undefined {
  return idempotencyKey === undefined ? undefined : `${caller.length} ${caller} ${idempotencyKey}`;
}

function uniqueValuesOf({ row: { id, caller, request_id, shape } }: Insert): UniqueValues {
  return { id, key: request_id === null ? undefined : { caller, request_id }, shape: shape ?? undefined };
}

/** The values whose row, once found, settles an insert. A key is checked before the shape. */
function decisiveValuesOf(insert: Insert): UniqueValues | undefined {
  const { key, shape } = uniqueValuesOf(insert);
  if (key !== undefined) return { key };
  return insert.duplicates === 'reject' ? { shape } : undefined;
}
