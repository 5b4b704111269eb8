import { LRUCache } from 'lru-cache';
import type { InsertOutcome } from '../registry/route-store.js';
import { type Route, sameDefinition } from '../registry/route.js';
import { batched, CancelledBeforeSend } from './batch.js';
import { DatabaseError, storeUnavailable } from './driver-errors.js';
import { LockedRows } from './locked-rows.js';
import { type StoredRoute, toStored, type UniqueValues } from './route-row.js';
import type { InsertCall, Inserted, RouteStatements, ServedCall } from './statements.js';

/** The most callers that are remembered for their repeats and duplicates. */
const MAX_REMEMBERED = 10_000;
/** How long each of them is remembered, in milliseconds. */
const REMEMBERED_MS = 10_000;

const INSERTED: InsertOutcome = { outcome: 'inserted' };

/** An insert that waits for the database. */
export interface Insert extends InsertCall {
  /** It has a shape if duplicates of it are refused. */
  readonly entry: StoredRoute;
}

/** A call that waits for the routes that have some of these values. */
interface LookUp extends ServedCall {
  readonly values: UniqueValues;
}

/** Stored routes, each by its id, its key as `keyOf` has it, and its shape. */
type StoredRoutes = ReadonlyMap<string | undefined, Route>;

/**
 * Inserts routes, and looks up what inserts meet. Inserts that come together form a batch, with one statement and one
 * commit. What one of them meets costs the others at most one look-up, and then goes its own way:
 *
 * - A batch leaves out the repeats and duplicates of what is stored. A look-up tells its inserts what became of each.
 *   Those of a caller who had one of these lately are looked up before they join a batch, and so are those that come
 *   beside their first, once that has ended.
 * - A row that the database refuses for itself, or that waits for a lock, is found by sending the batch row by row. For
 *   a while, what has waited for a lock does not join others (`locked-rows.ts`).
 */
export class Inserts {
  /**
   * Finds every route, on the writer. A transaction keeps its connection for several round trips. Look-ups that come
   * together share a statement, and its result.
   */
  readonly lookUpOnWriter: (lookUp: LookUp) => Promise<StoredRoutes>;
  /** Cheaper. It may miss routes, since a reader may lag behind the writer. @throws the driver's error */
  readonly #lookUpAnywhere: (lookUp: LookUp) => Promise<StoredRoutes>;
  /** The first insert under way of each key and shape. */
  readonly #underWay = new Map<string, Promise<InsertOutcome>>();
  /** Callers with repeats, or with duplicates that are refused. */
  readonly #conflictingCallers = new LRUCache<string, true>({
    max: MAX_REMEMBERED,
    ttl: REMEMBERED_MS,
    ttlResolution: 0,
  });
  readonly #lockedRows = new LockedRows();
  readonly #insertTogether: (insert: Insert) => Promise<Inserted>;
  readonly #insertAlone: (insert: Insert) => Promise<Inserted>;

  constructor(rows: RouteStatements) {
    this.lookUpOnWriter = batched(
      { maxConcurrent: 1, maxConcurrentWhenFull: 2 },
      sharing(rows.lookUpOnWriter.bind(rows)),
    );
    this.#lookUpAnywhere = batched(
      { maxConcurrent: 2, maxConcurrentWhenFull: 4 },
      sharing(rows.lookUp.bind(rows)),
    );
    // The fixed cost of the statement exceeds that of its rows.
    this.#insertTogether = batched(
      { maxConcurrent: 1, maxConcurrentWhenFull: 4 },
      (inserts: readonly Insert[]) => rows.insert(inserts),
    );
    this.#insertAlone = batched({ maxConcurrent: 4, maxBatch: 1 }, (inserts: readonly Insert[]) =>
      rows.insert(inserts),
    );
  }

  async insert(insert: Insert): Promise<InsertOutcome> {
    const values = valuesOf(insert.entry);
    if (values.length === 0) return this.#send(insert);
    if (this.#conflictingCallers.has(insert.entry.caller)) {
      const outcome = await this.#outcomeAnywhere(insert);
      if (outcome !== undefined) return outcome;
    }
    const first = values.map((value) => this.#underWay.get(value)).find((each) => each !== undefined);
    if (first !== undefined) {
      // Whatever becomes of it: if it fails, this one takes its place.
      await Promise.allSettled([first]);
      return (await this.#outcomeAnywhere(insert)) ?? this.#send(insert);
    }
    const sent = this.#send(insert);
    for (const value of values) this.#underWay.set(value, sent);
    try {
      return await sent;
    } finally {
      for (const value of values) this.#underWay.delete(value);
    }
  }

  /** Sends an insert with others, unless it is likely to wait for a lock, and alone if that does not decide it. */
  async #send(insert: Insert): Promise<InsertOutcome> {
    const { caller, shape } = insert.entry;
    const row = { caller, shape, values: valuesOf(insert.entry) };
    let inserted: Inserted | undefined;
    try {
      if (!this.#lockedRows.mayInclude(row)) {
        inserted = await this.#insertTogether(insert);
        const outcome = await this.#outcomeAfter(insert, inserted);
        if (outcome !== undefined) return outcome;
      }
      inserted = await this.#lockedRows.takeTurn(row, () => this.#insertAlone(insert));
      if (inserted.kind === 'all') this.#lockedRows.noteStored(row);
      const outcome = await this.#outcomeAfter(insert, inserted);
      if (outcome !== undefined) return outcome;
      throw inserted.error ?? storeUnavailable(new Error('What stood in the way of a route is gone.'));
    } catch (error) {
      // Its caller may have left before it was sent alone: then nobody knows whose lock it was.
      if (inserted?.kind === 'locked') this.#lockedRows.noteWait(row);
      throw error;
    }
  }

  /** The outcome after a statement, if it is known. */
  async #outcomeAfter(insert: Insert, { kind }: Inserted): Promise<InsertOutcome | undefined> {
    switch (kind) {
      case 'all':
        return INSERTED;
      case 'some':
        return (await this.#outcomeAnywhere(insert)) ?? this.#outcomeOnWriter(insert);
      case 'locked':
        return this.#outcomeAnywhere(insert);
      case 'row refused':
        return undefined;
    }
  }

  /** The outcome that follows from what is stored, if any does. A reader that lags behind the writer may not know it. */
  async #outcomeAnywhere(insert: Insert): Promise<InsertOutcome | undefined> {
    let stored: StoredRoutes;
    try {
      stored = await this.#lookUpAnywhere(lookUpOf(insert));
    } catch (error) {
      // Behind a load balancer, this may be a reader's failure, which is none of the writer's.
      if (error instanceof CancelledBeforeSend) throw error;
      this.#conflictingCallers.delete(insert.entry.caller);
      return undefined;
    }
    const outcome = this.#outcomeBeside(insert, stored);
    return outcome === undefined || isCertain(outcome, insert) ? outcome : this.#outcomeOnWriter(insert);
  }

  /** The outcome that follows from what is stored. If that cannot be read, the insert may be stored all the same. */
  async #outcomeOnWriter(insert: Insert): Promise<InsertOutcome | undefined> {
    try {
      return this.#outcomeBeside(insert, await this.lookUpOnWriter(lookUpOf(insert)));
    } catch (error) {
      throw error instanceof DatabaseError ? storeUnavailable(error) : error;
    }
  }

  /** The outcome of an insert beside stored routes, if they decide it. */
  #outcomeBeside({ entry }: Insert, stored: StoredRoutes): InsertOutcome | undefined {
    const own = stored.get(entry.route.id);
    if (own !== undefined && isSame(own, entry.route)) return INSERTED;
    const earlier = stored.get(keyOf(entry));
    const first = stored.get(entry.shape);
    if (earlier !== undefined || first !== undefined) this.#conflictingCallers.set(entry.caller, true);
    if (earlier !== undefined) return { outcome: 'repeated', route: earlier };
    return first && { outcome: 'duplicate', id: first.id };
  }
}

/** Whether this very route is stored, by an earlier attempt of the service or of a proxy that got no response. */
function isSame(stored: Route, route: Route): boolean {
  return sameDefinition(stored, route) && stored.createdAt.getTime() === route.createdAt.getTime();
}

/** Whether an outcome holds although some stored routes may be missing: a key is checked before the shape. */
function isCertain({ outcome }: InsertOutcome, { entry }: Insert): boolean {
  return outcome !== 'duplicate' || entry.idempotencyKey === undefined;
}

/** The look-up of what may stand in the way of an insert: its own row, too, which an earlier attempt may have stored. */
function lookUpOf({ entry: { route, caller, idempotencyKey, shape }, signal, captured }: Insert): LookUp {
  const key = idempotencyKey === undefined ? undefined : { caller, idempotencyKey };
  return { values: { id: route.id, key, shape }, signal, captured };
}

/** A text that two routes share only if they have the same caller and idempotency key; undefined without a key. */
export function keyOf({ caller, idempotencyKey }: Pick<StoredRoute, 'caller' | 'idempotencyKey'>) {
  return idempotencyKey === undefined ? undefined : `${caller.length} ${caller} ${idempotencyKey}`;
}

/** The key and the shape of a route, as texts that differ, also from every id. */
function valuesOf(entry: StoredRoute): string[] {
  return [keyOf(entry), entry.shape].filter((value) => value !== undefined);
}

/** Sends look-ups together. All of them get the routes that any of them asks for. */
function sharing(send: RouteStatements['lookUp']) {
  return async (lookUps: readonly LookUp[]): Promise<readonly StoredRoutes[]> => {
    const values = lookUps.map((each) => each.values);
    const found = (await send(values, lookUps)).map(toStored);
    const stored = new Map(
      found.flatMap((each) => [each.route.id, ...valuesOf(each)].map((value) => [value, each.route])),
    );
    return lookUps.map(() => stored);
  };
}
