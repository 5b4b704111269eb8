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
/** How long a caller is remembered after its last repeat or duplicate, in milliseconds. */
const REMEMBERED_MS = 10_000;

const INSERTED: InsertOutcome = { outcome: 'inserted' };

/** An insert that waits for the database. */
export interface Insert extends InsertCall {
  /** It has a shape if duplicates of it are refused. */
  readonly record: RouteRecord;
}

/**
 * Inserts routes, and says what became of each. Inserts that come together form a batch, with one statement and one
 * commit:
 *
 * - A batch skips rows whose key or shape is stored already. Its calls then share one look-up, which tells each of them
 *   its outcome.
 * - The calls of a caller who had such a row in the last ten seconds are looked up before they join a batch. So is a call
 *   with the key or the shape of an insert under way, once that insert has ended.
 * - If one row is refused, or waits for a lock in vain, the whole batch stores nothing, and each row is sent again alone.
 *   A row that is likely to wait for a lock is sent alone from the start (`locked-rows.ts`).
 */
export class Inserts {
  readonly #lookUps: LookUps;
  readonly #insertTogether: (insert: Insert) => Promise<InsertAnswer>;
  /** The rows that go alone share four places. */
  readonly #insertAlone: (insert: Insert) => Promise<InsertAnswer>;
  /** The first insert under way of each key and shape. */
  readonly #underWay = new Map<string, Promise<InsertOutcome>>();
  /** Callers who had repeats, or duplicates that are refused. */
  readonly #conflictingCallers = new LRUCache<string, true>({
    max: MAX_REMEMBERED,
    ttl: REMEMBERED_MS,
    // By default, lru-cache sets a timer to keep the time of day for 1 ms.
    ttlResolution: 0,
  });
  readonly #lockedRows = new LockedRows();

  constructor(statements: RouteStatements, lookUps: LookUps) {
    this.#lookUps = lookUps;
    const send = (inserts: readonly Insert[]) => statements.insert(inserts);
    // One at a time, so that more rows share a statement: its fixed cost exceeds that of its rows.
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
      // What the first insert stores decides this insert. If it stores nothing, this insert is sent after all, beside
      // others that have waited: the database decides among them.
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

  /**
   * Sends an insert in a batch, unless it is likely to wait for a lock. If it was not sent in a batch, or the batch does
   * not decide its outcome, sends it alone.
   */
  async #send(insert: Insert): Promise<InsertOutcome> {
    const { caller, shape } = insert.record;
    const row = { caller, shape, texts: uniqueTextsOf(insert.record) };
    let answer: InsertAnswer | undefined;
    try {
      if (!this.#lockedRows.isLikelyToWait(row)) {
        answer = await this.#insertTogether(insert);
        const outcome = await this.#outcomeAfter(answer, insert);
        if (outcome !== undefined) return outcome;
      }

      answer = await this.#lockedRows.takeTurn(row, () => this.#insertAlone(insert));
      if (answer.kind === 'all') this.#lockedRows.noteStored(row);
      const outcome = await this.#outcomeAfter(answer, insert);
      if (outcome !== undefined) return outcome;

      // Without an error, the row was left out because of a stored row, but no look-up has found that row.
      throw answer.error ?? storeUnavailable(new Error('What stood in the way of a route is gone.'));
    } catch (error) {
      // `answer` is that of the last statement that was answered. If this row was alone in it, this row waited for the
      // lock. If it was the batch, since sending the row alone failed or was cancelled, it may have been this row.
      if (answer?.kind === 'locked') this.#lockedRows.noteWait(row);
      throw error;
    }
  }

  /** The outcome after a statement; undefined if nothing decides it: `#send` then sends the row alone, or gives up. */
  async #outcomeAfter({ kind }: InsertAnswer, insert: Insert): Promise<InsertOutcome | undefined> {
    switch (kind) {
      case 'all':
        return INSERTED;
      case 'some':
        return (await this.#outcomeReaderFirst(insert)) ?? this.#outcomeOnWriter(insert);
      case 'locked':
        // The locked row may be stored, and readable all the same: then this insert is its repeat or duplicate. If it
        // is not found, sending this insert's row alone decides.
        return this.#outcomeReaderFirst(insert);
      case 'row refused':
        return undefined;
    }
  }

  /**
   * The outcome that follows from what is stored; undefined if none does, or if no reader answers. Asks the writer if a
   * reader, which may lag behind, could lack a route that changes the outcome. Remembers the caller of a repeat or a
   * duplicate, and forgets the caller if the look-up fails.
   */
  async #outcomeReaderFirst(insert: Insert): Promise<InsertOutcome | undefined> {
    let found: FoundRoutes;
    try {
      found = await this.#lookUps.anywhere(lookUpOf(insert));
    } catch (error) {
      if (error instanceof CancelledBeforeSend) throw error;
      // The reader may be down, or another call that shares the look-up may have met a row that cannot be read. Either way,
      // go on to the INSERT: if such a row keeps this row out, the look-up on the writer reports it.
      //
      // The caller is forgotten, so that its next inserts do not wait for a reader that fails.
      this.#conflictingCallers.delete(insert.record.caller);
      return undefined;
    }
    const outcome = outcomeBeside(insert.record, found);
    this.#rememberConflict(insert, outcome);
    return outcome !== undefined && mayBeRepeat(outcome, insert) ? this.#outcomeOnWriter(insert) : outcome;
  }

  /**
   * The outcome that follows from what is stored; undefined if none does. If that cannot be read, the insert may be stored
   * all the same, so it is unavailable even if the database refuses the look-up for good.
   */
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
    const isConflict = outcome !== undefined && outcome.outcome !== 'inserted';
    if (isConflict) this.#conflictingCallers.set(record.caller, true);
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

/**
 * Whether this very route is stored, by an earlier attempt of the service or of a proxy that got no response. The id alone
 * does not tell: two processes with the same random state could make it twice, and then the later route is not stored.
 */
function isSame(stored: Route, route: Route): boolean {
  return sameDefinition(stored, route) && stored.createdAt.getTime() === route.createdAt.getTime();
}

/** Whether a duplicate by shape may be a repeat after all, since the reader may lack the route that has its key. */
function mayBeRepeat({ outcome }: InsertOutcome, { record }: Insert): boolean {
  return outcome === 'duplicate' && record.idempotencyKey !== undefined;
}
