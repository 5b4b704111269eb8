import { LRUCache } from 'lru-cache';

/** The most keys and shapes, and the most callers, that are remembered. */
const MAX_REMEMBERED = 10_000;
/** How long each of them is remembered after its last wait, in milliseconds. */
const REMEMBERED_MS = 10_000;
/**
 * How many rows of a caller must be stored to make up for one wait. Where only some of them are locked, the next row
 * may well wait again.
 */
const STORES_FOR_A_WAIT = 10;

// `ttlResolution: 0` reads the clock each time. Otherwise, lru-cache sets a timer to keep the time of day for 1 ms.
const LIMITS = { max: MAX_REMEMBERED, ttl: REMEMBERED_MS, ttlResolution: 0 };

/** What is known of a row before it is sent. */
export interface NewRow {
  readonly caller: string;
  readonly shape: string | undefined;
  /** The texts of its key and its shape, as `uniqueTextsOf` has them. */
  readonly texts: readonly string[];
}

/**
 * Knows which rows are likely to wait for a lock that somebody else holds, so that no other row waits with them:
 *
 * - A row whose key or shape has waited.
 * - Any row of a caller whose rows have waited with several keys or shapes, as when somebody deletes all of its rows.
 *   Such a caller is trusted again once enough of its rows have been stored.
 */
export class LockedRows {
  /** The keys and shapes that have waited. */
  readonly #texts = new LRUCache<string, true>(LIMITS);
  /** Callers whose rows have waited, with how many must be stored to make up for it: for two waits at most. */
  readonly #storesOwed = new LRUCache<string, number>(LIMITS);
  /** The last row of each queue of `takeTurn`. */
  readonly #tails = new Map<string, Promise<unknown>>();

  /** Whether the row is likely to wait, so that it should not join others. */
  isLikelyToWait({ caller, texts }: NewRow): boolean {
    const nothingHasWaited = this.#storesOwed.size + this.#texts.size === 0;
    if (nothingHasWaited) return false;
    return this.#isDistrusted(caller) || texts.some((text) => this.#texts.has(text));
  }

  /**
   * Whether rows of the caller have waited with several keys or shapes, and too few have been stored since. A first wait is
   * put down to its row, a second one, with another key or shape, to the caller.
   */
  #isDistrusted(caller: string): boolean {
    // Stores for more than one wait are owed.
    return this.#storesOwedBy(caller) > STORES_FOR_A_WAIT;
  }

  #storesOwedBy(caller: string): number {
    return this.#storesOwed.get(caller) ?? 0;
  }

  /** Must be called when a row has waited, perhaps with others, and was not stored afterwards. */
  noteWait({ caller, texts }: NewRow): void {
    // A key or shape that waits again says nothing new of its caller.
    if (!texts.some((text) => this.#texts.has(text))) {
      const owed = this.#storesOwedBy(caller) + STORES_FOR_A_WAIT;
      this.#storesOwed.set(caller, Math.min(owed, 2 * STORES_FOR_A_WAIT));
    }
    for (const text of texts) this.#texts.set(text, true);
  }

  /** Must be called when a row was stored by a statement of its own. */
  noteStored({ caller }: NewRow): void {
    const owed = this.#storesOwedBy(caller);
    // The caller is remembered from its last wait on.
    if (owed > 1) this.#storesOwed.set(caller, owed - 1, { noUpdateTTL: true });
    else this.#storesOwed.delete(caller);
  }

  /**
   * Sends a row alone, once those before it in its queue have ended. Rows that may wait for the same lock form a queue, so
   * that together they hold one of the places for rows that go alone. Side by side, several locked rows would take all
   * places from other callers.
   *
   * The price: when a batch was locked, nobody knows by which of its rows. The caller's other rows that were in it wait
   * once more, behind the row that is locked.
   */
  async takeTurn<Result>(row: NewRow, send: () => Promise<Result>): Promise<Result> {
    const queue = this.#queueOf(row);
    const turn = (this.#tails.get(queue) ?? Promise.resolve()).then(send, send);
    this.#tails.set(queue, turn);
    try {
      return await turn;
    } finally {
      if (this.#tails.get(queue) === turn) this.#tails.delete(queue);
    }
  }

  /** The name of a row's queue: rows with a shape that has waited have one for each shape, all others one for each caller. */
  #queueOf({ caller, shape }: NewRow): string {
    const hasShapeWaited = shape !== undefined && this.#texts.has(shape);
    return hasShapeWaited ? `shape ${shape}` : `caller ${caller}`;
  }
}
