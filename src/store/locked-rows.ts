import { LRUCache } from 'lru-cache';

/** The most keys and shapes, and the most callers, that are remembered. */
const MAX_REMEMBERED = 10_000;
/** How long each of them is remembered after its last wait, in milliseconds. */
const REMEMBERED_MS = 10_000;
/**
 * How many rows of a caller must be stored to make up for one wait. Where only some of them are locked, the next one may
 * well wait again.
 */
const STORED_FOR_A_WAIT = 10;

const LIMITS = { max: MAX_REMEMBERED, ttl: REMEMBERED_MS, ttlResolution: 0 };

/** What is known of a row before it is sent. */
interface NewRow {
  readonly caller: string;
  readonly shape: string | undefined;
  /** The texts of its key and its shape. */
  readonly texts: readonly string[];
}

/**
 * Knows which rows are likely to wait for a lock that somebody else holds, so that no other row waits with them:
 *
 * - A row whose key or shape has waited.
 * - Any row of a caller whose rows have waited with several keys or shapes, as when somebody deletes all of its rows, or
 *   locks the table. Such a caller is trusted again once enough of its rows have been stored.
 */
export class LockedRows {
  /** The keys and shapes that have waited. */
  readonly #texts = new LRUCache<string, true>(LIMITS);
  /** How many rows of each caller must still be stored to make up for those that have waited: two waits at most. */
  readonly #callers = new LRUCache<string, number>(LIMITS);
  /** The last row of each turn. */
  readonly #turns = new Map<string, Promise<unknown>>();

  /** Whether the row is likely to wait, so that it should not join others. */
  mayInclude({ caller, texts }: NewRow): boolean {
    if (this.#callers.size + this.#texts.size === 0) return false;
    // One wait is that of its row. Another one, with another key or shape, is the caller's.
    const isOfCaller = (this.#callers.get(caller) ?? 0) > STORED_FOR_A_WAIT;
    return isOfCaller || texts.some((text) => this.#texts.has(text));
  }

  /** Must be called when a row has waited, perhaps with others, and was not stored afterwards. */
  noteWait({ caller, texts }: NewRow): void {
    // A key or shape that waits again says nothing new of its caller.
    if (!texts.some((text) => this.#texts.has(text))) {
      const toBeStored = (this.#callers.get(caller) ?? 0) + STORED_FOR_A_WAIT;
      this.#callers.set(caller, Math.min(toBeStored, 2 * STORED_FOR_A_WAIT));
    }
    for (const text of texts) this.#texts.set(text, true);
  }

  /** Must be called when a row was stored that had not joined others. */
  noteStored({ caller }: NewRow): void {
    const toBeStored = this.#callers.get(caller) ?? 0;
    if (toBeStored > 1) this.#callers.set(caller, toBeStored - 1);
    else this.#callers.delete(caller);
  }

  /**
   * Sends a row alone. Rows that may wait for the same lock take turns, so that together they hold one of the places for
   * rows that go alone.
   */
  async takeTurn<Result>({ caller, shape }: NewRow, send: () => Promise<Result>): Promise<Result> {
    const isOfShape = shape !== undefined && this.#texts.has(shape);
    // No shape begins with a space.
    const name = isOfShape ? shape : ` ${caller}`;
    const turn = (this.#turns.get(name) ?? Promise.resolve()).then(send, send);
    this.#turns.set(name, turn);
    try {
      return await turn;
    } finally {
      if (this.#turns.get(name) === turn) this.#turns.delete(name);
    }
  }
}
