import { LRUCache } from 'lru-cache';
import type { InsertOutcome } from '../registry/route-store.js';
import { type Route, sameDefinition } from '../registry/route.js';
import { CancelledBeforeSend, inBatches } from './batch.js';
import { DatabaseError, storeUnavailable } from './driver-errors.js';
import { LockedRows } from './locked-rows.js';
import { type FoundRoutes, keyText, type LookUp, type LookUps, uniqueTextsOf } from './look-ups.js';
import type { RouteRecord } from './route-columns.js';
import type { InsertAnswer, InsertCall, RouteStatements } from './statements.js';

/** The most callers that are remembered for their repeats and duplicates. */
const MAX_REMEMBERED = 10_000;
/** How long each of them is remembered, in milliseconds. */
const REMEMBERED_MS = 10_000;

const INSERTED: InsertOutcome = { outcome: 'inserted' };

/** An insert that waits for the database. */
export interface Insert extends InsertCall {
  /** It has a shape if duplicates of it are refused. */
  readonly record: RouteRecord;
}

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
  readonly #lookUps: LookUps;
  readonly #insertTogether: (insert: Insert) => Promise<InsertAnswer>;
  readonly #insertAlone: (insert: Insert) => Promise<InsertAnswer>;
  /** The first insert under way of each key and shape. */
  readonly #underWay = new Map<string, Promise<InsertOutcome>>();
  /** Callers who had repeats, or duplicates that are refused. */
  readonly #conflictingCallers = new LRUCache<string, true>({
    max: MAX_REMEMBERED,
    ttl: REMEMBERED_MS,
    ttlResolution: 0,
  });
  readonly #lockedRows = new LockedRows();

  constructor(rows: RouteStatements, lookUps: LookUps) {
    this.#lookUps = lookUps;
    const send = (inserts: readonly Insert[]) => rows.insert(inserts);
    // The fixed cost of the statement exceeds that of its rows.
    this.#insertTogether = inBatches({ maxConcurrent: 1, maxConcurrentWhenFull: 4 }, send);
    this.#insertAlone = inBatches({ maxConcurrent: 4, maxBatch: 1 }, send);
  }

  async insert(insert: Insert): Promise<InsertOutcome> {
    const texts = uniqueTextsOf(insert.record);
    if (texts.length === 0) return this.#send(insert);

    if (this.#conflictingCallers.has(insert.record.caller)) {
      const outcome = await this.#outcomeReaderFirst(insert);
      if (outcome !== undefined) return outcome;
    }

    const first = texts.map((text) => this.#underWay.get(text)).find((sent) => sent !== undefined);
    if (first !== undefined) {
      // What the first one stores decides this one. If it stores nothing, this one is sent after all.
      await Promise.allSettled([first]);
      return (await this.#outcomeReaderFirst(insert)) ?? this.#send(insert);
    }

    const sent = this.#send(insert);
    for (const text of texts) this.#underWay.set(text, sent);
    try {
      return await sent;
    } finally {
      for (const text of texts) this.#underWay.delete(text);
    }
  }

  /** Sends an insert with others, unless it is likely to wait for a lock, and alone if that does not decide it. */
  async #send(insert: Insert): Promise<InsertOutcome> {
    const { caller, shape } = insert.record;
    const row = { caller, shape, texts: uniqueTextsOf(insert.record) };
    let answer: InsertAnswer | undefined;
    try {
      if (!this.#lockedRows.mayInclude(row)) {
        answer = await this.#insertTogether(insert);
        const outcome = await this.#outcomeAfter(answer, insert);
        if (outcome !== undefined) return outcome;
      }

      answer = await this.#lockedRows.takeTurn(row, () => this.#insertAlone(insert));
      if (answer.kind === 'all') this.#lockedRows.noteStored(row);
      const outcome = await this.#outcomeAfter(answer, insert);
      if (outcome !== undefined) return outcome;

      throw answer.error ?? storeUnavailable(new Error('What stood in the way of a route is gone.'));
    } catch (error) {
      // Its caller may have left before it was sent alone: then nobody knows whose lock it was.
      if (answer?.kind === 'locked') this.#lockedRows.noteWait(row);
      throw error;
    }
  }

  /** The outcome after a statement, if it is known. */
  async #outcomeAfter({ kind }: InsertAnswer, insert: Insert): Promise<InsertOutcome | undefined> {
    switch (kind) {
      case 'all':
        return INSERTED;
      case 'some':
        return (await this.#outcomeReaderFirst(insert)) ?? this.#outcomeOnWriter(insert);
      case 'locked':
        return this.#outcomeReaderFirst(insert);
      case 'row refused':
        return undefined;
    }
  }

  /**
   * The outcome that follows from what is stored, if any does. Asks the writer only if a reader's answer might be
   * another one: a reader that lags behind may lack routes.
   */
  async #outcomeReaderFirst(insert: Insert): Promise<InsertOutcome | undefined> {
    let found: FoundRoutes;
    try {
      found = await this.#lookUps.anywhere(lookUpOf(insert));
    } catch (error) {
      if (error instanceof CancelledBeforeSend) throw error;
      // Behind a load balancer, this may be a reader's failure, which is none of the writer's. The caller's next inserts
      // then go to the writer at once, and wait for no reader that fails.
      this.#conflictingCallers.delete(insert.record.caller);
      return undefined;
    }
    const outcome = outcomeBeside(insert.record, found);
    this.#rememberConflict(insert, outcome);
    return outcome === undefined || isCertain(outcome, insert) ? outcome : this.#outcomeOnWriter(insert);
  }

  /** The outcome that follows from what is stored. If that cannot be read, the insert may be stored all the same. */
  async #outcomeOnWriter(insert: Insert): Promise<InsertOutcome | undefined> {
    let found: FoundRoutes;
    try {
      found = await this.#lookUps.onWriter(lookUpOf(insert));
    } catch (error) {
      throw error instanceof DatabaseError ? storeUnavailable(error) : error;
    }
    const outcome = outcomeBeside(insert.record, found);
    this.#rememberConflict(insert, outcome);
    return outcome;
  }

  #rememberConflict({ record }: Insert, outcome: InsertOutcome | undefined): void {
    if (outcome !== undefined && outcome !== INSERTED) this.#conflictingCallers.set(record.caller, true);
  }
}

/** The look-up of what may stand in the way of an insert: its own row, too, which an earlier attempt may have stored. */
function lookUpOf({
  record: { route, caller, idempotencyKey, shape },
  signal,
  capturedByEach,
}: Insert): LookUp {
  const key = idempotencyKey === undefined ? undefined : { caller, idempotencyKey };
  return { values: { id: route.id, key, shape }, signal, capturedByEach };
}

/** The outcome of an insert beside stored routes, if they decide it. A key is checked before the shape. */
function outcomeBeside(record: RouteRecord, found: FoundRoutes): InsertOutcome | undefined {
  const own = found.get(record.route.id);
  if (own !== undefined && isSame(own, record.route)) return INSERTED;

  const earlier = found.get(keyText(record));
  if (earlier !== undefined) return { outcome: 'repeated', route: earlier };

  const first = found.get(record.shape);
  return first === undefined ? undefined : { outcome: 'duplicate', id: first.id };
}

/** Whether this very route is stored, by an earlier attempt of the service or of a proxy that got no response. */
function isSame(stored: Route, route: Route): boolean {
  return sameDefinition(stored, route) && stored.createdAt.getTime() === route.createdAt.getTime();
}

/** Whether an outcome holds although some stored routes may be missing, such as the one that has the key. */
function isCertain({ outcome }: InsertOutcome, { record }: Insert): boolean {
  return outcome !== 'duplicate' || record.idempotencyKey === undefined;
}
