import { LRUCache } from 'lru-cache';
import type { InsertOutcome, NewRoute } from '../registry/route-store.js';
import { type Route, sameDefinition } from '../registry/route.js';
import { batched, isWanted, NotSent } from './batch.js';
import { keyOf, type LookUps, StoredRoutes } from './look-ups.js';
import { type NewRouteRow, type StoredRoute, toStored, type UniqueValues } from './route-row.js';
import type { Refusal, RouteStatements, RowOfCall, ServedCall } from './statements.js';

/** The most of anything that is remembered of earlier inserts. */
const MAX_REMEMBERED = 10_000;
/** While more than this part of a caller's inserts met stored routes, those without a key are looked up first, too. */
const MANY_MET = 1 / 32;
/** The weight of one insert in that part, an exponential moving average. */
const WEIGHT = 1 / 64;
/** That part when it becomes known: the next hundred or so are looked up, since callers that repeat often go on. */
const FIRST_MET = 1 / 8;
/** How long callers and values are remembered that stood in the way of others, in milliseconds. */
const REMEMBERED_MS = 10_000;
/** The most statements of one batch: each round settles what stood in the way of the one before. */
const MAX_ROUNDS = 4;

const INSERTED: InsertOutcome = { outcome: 'inserted' };

/** An insert that waits for the database. */
export interface Insert extends ServedCall {
  readonly entry: NewRoute;
  readonly row: NewRouteRow;
  readonly duplicates: 'allow' | 'reject';
}

/** The outcomes of a batch, as they become known. */
type Outcomes = Map<Insert, InsertOutcome | Error>;

/**
 * Inserts routes. Those that come together form a batch, with one statement and one commit. What one of them meets
 * costs the others at most one more statement, and then goes its own way:
 *
 * - A repeat or a duplicate makes the database refuse the batch. One look-up tells what is stored already, and the rest
 *   is inserted together. Of a caller with some of them, the inserts with a key are looked up before they join others;
 *   of a caller with many, all.
 * - A row that the database refuses for itself, or that waits for a lock, is found by sending what is open alone, row
 *   by row. For a while, what has waited for a lock does not join others.
 */
export class Inserts {
  readonly #rows: RouteStatements;
  readonly #lookUps: LookUps;
  /** Shapes that have a first route, so that a duplicate does not try to become the first. */
  readonly #knownShapes = new LRUCache<string, true>({ max: MAX_REMEMBERED });
  /**
   * Callers whose inserts met stored routes, each with the part that did: repeats, duplicates that are refused, and
   * shapes that were unknown here.
   */
  readonly #repeaters = remembered<number>();
  /** Keys and shapes that have waited for a lock. */
  readonly #locked = remembered<true>();
  readonly #insertTogether = batched('when full', (inserts: readonly Insert[]) => this.#insertAll(inserts));
  readonly #insertAlone = batched('alone', (inserts: readonly Insert[]) => this.#insertOne(inserts));
  readonly #insertLocked = batched('alone, locked', (inserts: readonly Insert[]) => this.#insertOne(inserts));

  constructor(rows: RouteStatements, lookUps: LookUps) {
    this.#rows = rows;
    this.#lookUps = lookUps;
  }

  async insert(insert: Insert): Promise<InsertOutcome> {
    const outcome = await this.#lookUpFirst(insert);
    if (outcome !== undefined) return outcome;
    if (this.#hasWaited(insert)) return this.#insertLocked(insert);
    return (await this.#insertTogether(insert)) ?? this.#insertAlone(insert);
  }

  /** While a caller repeats itself, its inserts are settled before they stand in the way of a batch. */
  async #lookUpFirst(insert: Insert): Promise<InsertOutcome | undefined> {
    const { entry, signal, captured } = insert;
    const met = this.#repeaters.get(entry.caller);
    if (met === undefined) return undefined;
    const { key, shape } = uniqueValuesOf(insert);
    const values = { key, shape: met <= MANY_MET || this.#isLater(insert) ? undefined : shape };
    if (values.key === undefined && values.shape === undefined) return undefined;
    let stored: StoredRoutes;
    try {
      stored = await this.#lookUps.anywhere({ values, signal, captured });
    } catch (error) {
      // Behind a load balancer, this may be a reader's failure, which is none of the writer's.
      if (error instanceof NotSent) throw error;
      this.#repeaters.delete(entry.caller);
      return undefined;
    }
    const outcome = this.#outcomeOf(insert, stored);
    if (outcome === undefined || isCertain(outcome, insert)) return outcome;
    return this.#outcomeOf(insert, await this.#lookUps.onWriter({ values, signal, captured }));
  }

  /** Inserts a batch. Those without an outcome must be inserted alone. What settles one fails no other. */
  async #insertAll(inserts: readonly Insert[]): Promise<(InsertOutcome | Error | undefined)[]> {
    const outcomes: Outcomes = new Map();
    let failure: Error | undefined;
    try {
      await this.#insertInRounds(inserts, outcomes);
    } catch (error) {
      failure = error as Error;
    }
    return inserts.map(
      (insert) => outcomes.get(insert) ?? (failure && this.#rows.failureOf(insert, failure)),
    );
  }

  /** Inserts a batch of one, which then has an outcome. */
  async #insertOne(inserts: readonly Insert[]): Promise<(InsertOutcome | Error)[]> {
    return (await this.#insertAll(inserts)) as (InsertOutcome | Error)[];
  }

  /**
   * Inserts what is open, settles what stood in its way, and begins again, until nothing is open or a row stands in the
   * way that only single statements can find.
   */
  async #insertInRounds(inserts: readonly Insert[], outcomes: Outcomes): Promise<void> {
    let open = inserts;
    let sent: readonly RowOfCall<Insert>[] = [];
    let refusal: Refusal | undefined;
    for (let round = 1; round <= MAX_ROUNDS && open.length > 0; round++) {
      ({ sent, refusal } = await this.#rows.insert(open, (wanted) => this.#firstsOf(wanted)));
      if (refusal === undefined) open = this.#settleBeside(sent, open, outcomes);
      else if (refusal.kind !== 'row refused') open = await this.#settleStored(open, outcomes);
      open = stillWanted(open, outcomes);
      if (refusal !== undefined && refusal.kind !== 'conflict') break;
    }
    const [only, ...others] = sent;
    if (only !== undefined && others.length === 0 && refusal !== undefined && open.includes(only.call))
      this.#refuse(only.call, refusal, outcomes);
  }

  /** After a statement that stored its rows: they have outcomes, and decide those of others of their batch. */
  #settleBeside(
    sent: readonly RowOfCall<Insert>[],
    inserts: readonly Insert[],
    outcomes: Outcomes,
  ): readonly Insert[] {
    for (const { call, row } of sent) {
      outcomes.set(call, INSERTED);
      this.#metNothing(call);
      if (row.shape !== null) this.#knownShapes.set(call.entry.shape, true);
    }
    if (sent.length === inserts.length) return [];
    const others = inserts.filter((insert) => !outcomes.has(insert));
    return this.#settle(others, new StoredRoutes(sent.map(storedBy)), outcomes, false);
  }

  /** After a refusal: looks up what is stored already. */
  async #settleStored(inserts: readonly Insert[], outcomes: Outcomes): Promise<readonly Insert[]> {
    const stored = await this.#rows.lookUpOnWriter(inserts.map(uniqueValuesOf), inserts);
    return this.#settle(inserts, new StoredRoutes(stored.map(toStored)), outcomes, true);
  }

  /** The refusal was of this insert, the only one of its statement. */
  #refuse(insert: Insert, { kind, error }: Refusal, outcomes: Outcomes): void {
    if (kind === 'locked') for (const value of valuesOf(insert)) this.#locked.set(value, true);
    outcomes.set(insert, this.#rows.failureOf(insert, error));
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
      const later = (duplicates === 'allow' && shapes.has(shape)) || this.#isLater(call);
      if (key !== undefined) keys.add(key);
      shapes.add(shape);
      firsts.push({ call, row: later ? { ...row, shape: null } : row });
    }
    return firsts;
  }

  #metStored({ entry: { caller } }: Insert): void {
    const part = this.#repeaters.get(caller) ?? FIRST_MET;
    this.#repeaters.set(caller, part + WEIGHT * (1 - part));
  }

  #metNothing({ entry: { caller } }: Insert): void {
    const part = this.#repeaters.get(caller);
    if (part !== undefined) this.#repeaters.set(caller, part - WEIGHT * part, { noUpdateTTL: true });
  }

  /** Whether a route is stored without its shape, which another has. */
  #isLater({ entry, duplicates }: Insert): boolean {
    return duplicates === 'allow' && this.#knownShapes.has(entry.shape);
  }

  #hasWaited(insert: Insert): boolean {
    return this.#locked.size > 0 && valuesOf(insert).some((value) => this.#locked.has(value));
  }

  /**
   * Settles the inserts whose outcome follows from routes that are stored.
   *
   * @param complete whether these are all stored routes that stand in the way of the inserts
   * @returns the inserts that are still open
   */
  #settle(
    inserts: readonly Insert[],
    stored: StoredRoutes,
    outcomes: Outcomes,
    complete: boolean,
  ): readonly Insert[] {
    return inserts.filter((insert) => {
      const outcome = this.#outcomeOf(insert, stored);
      if (outcome === undefined || !(complete || isCertain(outcome, insert))) return true;
      outcomes.set(insert, outcome);
      return false;
    });
  }

  /** The outcome of an insert beside stored routes, if they decide it. */
  #outcomeOf(insert: Insert, stored: StoredRoutes): InsertOutcome | undefined {
    const { entry, duplicates } = insert;
    const wasLater = this.#isLater(insert);
    const own = stored.withId(entry.route.id);
    const earlier = stored.withKeyOf(entry);
    const first = stored.firstOf(entry.shape);
    if (first !== undefined) this.#knownShapes.set(entry.shape, true);
    if (own !== undefined && isSame(own, entry.route)) return INSERTED;
    if (earlier !== undefined || (first !== undefined && !wasLater)) this.#metStored(insert);
    if (earlier !== undefined) return { outcome: 'repeated', route: earlier };
    return first !== undefined && duplicates === 'reject'
      ? { outcome: 'duplicate', id: first.id }
      : undefined;
  }
}

function remembered<Value extends number | true>(): LRUCache<string, Value> {
  return new LRUCache({ max: MAX_REMEMBERED, ttl: REMEMBERED_MS, ttlResolution: 0 });
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

/** Whether an outcome holds although some stored routes may be missing: a key is checked before the shape. */
function isCertain({ outcome }: InsertOutcome, { entry }: Insert): boolean {
  return outcome !== 'duplicate' || entry.idempotencyKey === undefined;
}

/** The route that is stored by a row. */
function storedBy({ call: { entry }, row }: RowOfCall<Insert>): StoredRoute {
  return row.shape === null ? { ...entry, shape: undefined } : entry;
}

function uniqueValuesOf({ row: { id, caller, request_id, shape } }: Insert): UniqueValues {
  return { id, key: request_id === null ? undefined : { caller, request_id }, shape: shape ?? undefined };
}

/** The key and the shape of an insert, as texts that differ. */
function valuesOf({ entry }: Insert): string[] {
  const key = keyOf(entry);
  return key === undefined ? [entry.shape] : [key, entry.shape];
}
