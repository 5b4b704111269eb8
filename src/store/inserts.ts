import { LRUCache } from 'lru-cache';
import type { InsertOutcome } from '../registry/route-store.js';
import { type Route, sameDefinition } from '../registry/route.js';
import { CancelledBeforeSend, inBatches } from './batch.js';
import { DatabaseError, storeUnavailable } from './driver-errors.js';
import { LockedRows, type NewRow } from './locked-rows.js';
import { type FoundRoutes, keyText, type LookUp, type LookUps, uniqueTextsOf } from './look-ups.js';
import type { RouteRecord } from './route-columns.js';
import type { InsertAnswer, InsertCall, RouteStatements } from './statements.js';

/** The most callers that are remembered for their repeats and duplicates. */
const MAX_CONFLICTING_CALLERS = 10_000;
/** How long a caller is remembered after its last repeat or duplicate, in milliseconds. */
const CONFLICTING_MS = 10_000;

const INSERTED: InsertOutcome = { outcome: 'inserted' };

const NOT_FOUND_AFTERWARDS =
  'The row was left out as already stored, but no stored route with its id, key or shape was found.';

/** An insert that waits for the database. */
export interface Insert extends InsertCall {
  /** Its `shape` is undefined if duplicates are allowed. */
  readonly record: RouteRecord;
}

/** An insert that is being sent: in a batch, alone, or first in a batch and then alone. */
interface Sending {
  readonly insert: Insert;
  readonly row: NewRow;
  /** Whether the last statement that had the row, and was answered, has waited for a lock in vain. */
  hasWaited: boolean;
}

/**
 * Inserts routes, and says what became of each. The unique values of a route are its id, its key (its caller and
 * idempotency key) and its shape. A repeat has the key of a stored route; a duplicate has the shape of a stored route.
 *
 * Inserts that come together form a batch, with one statement and one commit:
 *
 * - A batch leaves out rows whose id, key or shape is stored already. Its calls then share one look-up, which tells each of
 *   them its outcome.
 * - The calls of a caller who had a repeat or duplicate lately are looked up before they join a batch. So
 *   is a call with the key or the shape of an insert under way, once that insert has ended.
 * - If one row is refused, or waits for a lock in vain, the whole batch stores nothing, and each row is sent again alone.
 *   A row that is likely to wait for a lock is sent alone from the start (`locked-rows.ts`).
 */
export class Inserts {
  readonly #lookUps: LookUps;
  readonly #insertTogether: (insert: Insert) => Promise<InsertAnswer>;
  readonly #insertAlone: (insert: Insert) => Promise<InsertAnswer>;
  /** By the text of each key and shape, the insert under way that came first with it. */
  readonly #underWay = new Map<string, Promise<InsertOutcome>>();
  /** Callers who had repeats, or duplicates that are refused. */
  readonly #conflictingCallers = new LRUCache<string, true>({
    max: MAX_CONFLICTING_CALLERS,
    ttl: CONFLICTING_MS,
    // 0: reads the clock each time. Otherwise, lru-cache sets a timer to keep the time of day for 1 ms.
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

  /**
   * Inserts a route, unless it is a repeat or a duplicate.
   *
   * @throws the registry's errors; `CancelledBeforeSend` if the call ended before a statement that it needs was sent
   */
  async insert(newInsert: Insert): Promise<InsertOutcome> {
    const uniqueTexts = uniqueTextsOf(newInsert.record);
    // Without a key and a shape, it can be neither a repeat nor a duplicate.
    if (uniqueTexts.length === 0) return this.#send(newInsert);

    if (this.#conflictingCallers.has(newInsert.record.caller)) {
      const outcome = await this.#outcomeFromReaderOrWriter(newInsert);
      if (outcome !== undefined) return outcome;
    }

    const earlier = uniqueTexts.map((text) => this.#underWay.get(text)).find((sent) => sent !== undefined);
    if (earlier !== undefined) {
      // What the earlier insert stores decides the new insert. If it stores nothing, the new insert is sent after all. It is
      // not entered in `#underWay`: all inserts that waited for the earlier insert are sent at once, and the database
      // decides among them.
      await Promise.allSettled([earlier]);
      return (await this.#outcomeFromReaderOrWriter(newInsert)) ?? this.#send(newInsert);
    }

    const sent = this.#send(newInsert);
    for (const text of uniqueTexts) this.#underWay.set(text, sent);
    try {
      return await sent;
    } finally {
      for (const text of uniqueTexts) this.#underWay.delete(text);
    }
  }

  /**
   * Sends an insert in a batch, unless it is likely to wait for a lock. If it was not sent in a batch, or the batch does
   * not decide its outcome, sends it alone.
   */
  async #send(insert: Insert): Promise<InsertOutcome> {
    const sending: Sending = { insert, row: newRowOf(insert.record), hasWaited: false };
    try {
      if (!this.#lockedRows.isLikelyToWait(sending.row)) {
        const outcome = await this.#sendInBatch(sending);
        if (outcome !== undefined) return outcome;
      }
      return await this.#sendAlone(sending);
    } catch (error) {
      // Noted only for an insert that fails in the end. If sending its row alone got no answer (its call ended in the queue,
      // say), it is the batch that has waited, perhaps for the lock of another row.
      if (sending.hasWaited) this.#lockedRows.noteWait(sending.row);
      throw error;
    }
  }

  /** The outcome of an insert sent in a batch; undefined if the batch does not decide it. */
  async #sendInBatch(sending: Sending): Promise<InsertOutcome | undefined> {
    const answer = await this.#insertTogether(sending.insert);
    sending.hasWaited = answer.kind === 'locked';
    return this.#outcomeAfter(answer, sending.insert);
  }

  /**
   * The outcome of an insert sent alone.
   *
   * @throws the error of the answer, or STORE_UNAVAILABLE, if nothing decides the outcome
   */
  async #sendAlone(sending: Sending): Promise<InsertOutcome> {
    const { insert, row } = sending;
    const answer = await this.#lockedRows.takeTurn(row, () => this.#insertAlone(insert));
    sending.hasWaited = answer.kind === 'locked';
    if (answer.kind === 'stored all') this.#lockedRows.noteStored(row);

    const outcome = await this.#outcomeAfter(answer, insert);
    if (outcome !== undefined) return outcome;
    throw answer.error ?? storeUnavailable(new Error(NOT_FOUND_AFTERWARDS));
  }

  /**
   * The outcome of an insert after a statement that had its row; undefined if nothing decides it. After a batch, `#send` then
   * sends the row alone; after that, `#sendAlone` throws.
   */
  async #outcomeAfter({ kind }: InsertAnswer, insert: Insert): Promise<InsertOutcome | undefined> {
    switch (kind) {
      case 'stored all':
        return INSERTED;
      case 'left out some':
        // A reader may not have the stored rows yet, so the writer is asked about what it does not show.
        return (await this.#outcomeFromReaderOrWriter(insert)) ?? this.#outcomeFromWriter(insert);
      case 'locked':
        // The locked row may be stored, and readable all the same: then this insert is its repeat or duplicate.
        return this.#outcomeFromReaderOrWriter(insert);
      case 'row refused':
        // Nothing was stored, perhaps because of another row of the batch.
        return undefined;
    }
  }

  /**
   * The outcome that follows from the stored routes, as a reader shows them; undefined if none follows, or if no reader
   * answers. A reader may lag behind: if it could lack a route that changes the outcome, the writer is asked.
   */
  async #outcomeFromReaderOrWriter(insert: Insert): Promise<InsertOutcome | undefined> {
    const outcome = await this.#outcomeFromReader(insert);
    return outcome !== undefined && mayBeRepeatAfterAll(outcome, insert)
      ? this.#outcomeFromWriter(insert)
      : outcome;
  }

  /** The outcome that follows from the routes of a reader; undefined if none follows, or if no reader answers. */
  async #outcomeFromReader(insert: Insert): Promise<InsertOutcome | undefined> {
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
    return this.#outcomeAmong(found, insert.record);
  }

  /**
   * The outcome that follows from the routes of the writer; undefined if none follows. If they cannot be read, the insert
   * may be stored all the same, so it is unavailable even if the database refuses the look-up for good.
   */
  async #outcomeFromWriter(insert: Insert): Promise<InsertOutcome | undefined> {
    let found: FoundRoutes;
    try {
      found = await this.#lookUps.onWriter(lookUpOf(insert));
    } catch (error) {
      throw error instanceof DatabaseError ? storeUnavailable(error) : error;
    }
    return this.#outcomeAmong(found, insert.record);
  }

  /** The outcome that follows from the routes found, if one does. Remembers the caller of a repeat or a duplicate. */
  #outcomeAmong(found: FoundRoutes, record: RouteRecord): InsertOutcome | undefined {
    const own = found.get(record.route.id);
    if (own !== undefined && isSame(own, record.route)) return INSERTED;

    const conflict = conflictWith(found, record);
    if (conflict !== undefined) this.#conflictingCallers.set(record.caller, true);
    return conflict;
  }
}

/** What `LockedRows` needs of a row: its shape among the texts, and also alone, as rows of one shape form a queue. */
function newRowOf(record: RouteRecord): NewRow {
  const { caller, shape } = record;
  return { caller, shape, texts: uniqueTextsOf(record) };
}

/** The look-up of what may stand in the way of an insert: its own row, too, which an earlier attempt may have stored. */
function lookUpOf({
  record: { route, caller, idempotencyKey, shape },
  signal,
  capturedByEach,
}: Insert): LookUp {
  const key = idempotencyKey === undefined ? undefined : { caller, idempotencyKey };
  // With what each observer captured for the insert, the look-up counts as a statement of the same call.
  return { values: { id: route.id, key, shape }, signal, capturedByEach };
}

/** What a route is beside stored routes: a repeat or, if not, a duplicate; undefined if it is neither. */
function conflictWith(found: FoundRoutes, record: RouteRecord): InsertOutcome | undefined {
  const withKey = found.get(keyText(record));
  if (withKey !== undefined) return { outcome: 'repeated', route: withKey };

  const withShape = found.get(record.shape);
  return withShape === undefined ? undefined : { outcome: 'duplicate', id: withShape.id };
}

/**
 * Whether this very route is stored, by an earlier attempt of the service or of a proxy that got no response. The id alone
 * does not tell: two processes with the same random state could make it twice, and then the later route is not stored.
 */
function isSame(stored: Route, route: Route): boolean {
  return sameDefinition(stored, route) && stored.createdAt.getTime() === route.createdAt.getTime();
}

/** Whether a duplicate by shape may be a repeat after all, since the reader may lack the route that has its key. */
function mayBeRepeatAfterAll({ outcome }: InsertOutcome, { record }: Insert): boolean {
  return outcome === 'duplicate' && record.idempotencyKey !== undefined;
}
