import type { Signal } from '../registry/route-store.js';

/** A call that waits for the database. */
export interface Waiting {
  /** Once it is aborted, the call is no longer wanted, and is rejected when its turn comes to be sent. */
  readonly signal: Signal | undefined;
  /** The bytes that it takes in a statement; default: 0, for calls that are always short. */
  readonly bytes?: number;
}

/** Whether the caller still wants the outcome. */
export function isWanted({ signal }: Waiting): boolean {
  return signal?.aborted !== true;
}

/** The caller no longer wanted the outcome when the statement could be sent. */
export class CancelledBeforeSend extends Error {
  override readonly name = 'CancelledBeforeSend';

  constructor() {
    super('The call ended before its statement was sent.');
  }
}

/**
 * The most bytes of one statement's entries, unless it has only one entry: less than 1 MiB, the least
 * `max_allowed_packet` in use.
 */
const MAX_BATCH_BYTES = 1_000_000;

/** How many statements of one kind may run at a time. All kinds together have at most the connections of the pool. */
interface Pace {
  /** The most concurrent statements while the waiting calls do not fill a batch. */
  readonly maxConcurrent: number;
  /** The most while they do, since a distant database serves more only with concurrency; default: as many. */
  readonly maxConcurrentWhenFull?: number;
  /** The most entries of one statement; default: 64, enough to share its cost, and few enough to keep it short. */
  readonly maxBatch?: number;
}

/** An entry of the queue, with the promise of its outcome. */
interface Queued<Entry, Outcome> {
  readonly entry: Entry;
  readonly resolve: (outcome: Outcome) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Combines calls into batches. While fewer statements run than may, calls are sent at the end of the event loop's
 * iteration, together with all others that came in it. Otherwise, they wait and share a later batch. Those that are no
 * longer wanted when their batch is sent are left out.
 *
 * @param run executes a batch of entries that are still wanted; resolves with an outcome, or an `Error`, for each entry
 *   in order
 */
export function inBatches<Entry extends Waiting, Outcome>(
  { maxConcurrent, maxConcurrentWhenFull = maxConcurrent, maxBatch = 64 }: Pace,
  run: (entries: readonly Entry[]) => Promise<readonly (Outcome | Error)[]>,
): (entry: Entry) => Promise<Outcome> {
  const queue: Queued<Entry, Outcome>[] = [];
  /** How many statements run. */
  let underWay = 0;
  /**
   * How many entries at the head of the queue may start a batch, since the iteration of the event loop in which they came
   * is over. Later entries join a batch, but do not start one.
   */
  let ready = 0;
  /** Whether the entries of this iteration will become ready at its end. */
  let scheduled = false;

  function sendReady(): void {
    while (ready > 0) {
      const length = lengthOfBatch(queue, maxBatch);
      const isFull = length === maxBatch || length < queue.length;
      if (underWay >= (isFull ? maxConcurrentWhenFull : maxConcurrent)) return;
      ready = Math.max(ready - length, 0);
      const batch = queue.splice(0, length).filter((queued) => {
        const wanted = isWanted(queued.entry);
        if (!wanted) queued.reject(new CancelledBeforeSend());
        return wanted;
      });
      if (batch.length > 0) void settle(batch);
    }
  }

  async function settle(batch: readonly Queued<Entry, Outcome>[]): Promise<void> {
    underWay++;
    let outcomes: readonly (Outcome | Error)[];
    try {
      outcomes = await run(batch.map(({ entry }) => entry));
    } catch (error) {
      outcomes = batch.map(() => error as Error);
    }
    underWay--;
    // The next statement is on its way before the outcomes of this statement are worked on.
    sendReady();
    for (const [i, { resolve, reject }] of batch.entries()) {
      const outcome = outcomes[i] as Outcome | Error;
      if (outcome instanceof Error) reject(outcome);
      else resolve(outcome);
    }
  }

  return (entry) =>
    new Promise((resolve, reject) => {
      queue.push({ entry, resolve, reject });
      if (scheduled) return;
      scheduled = true;
      // Calls that Node reads in one iteration of the event loop share one batch.
      setImmediate(() => {
        scheduled = false;
        ready = queue.length;
        sendReady();
      });
    });
}

/** How many entries at the head of the queue form a batch: at least one. */
function lengthOfBatch(queue: readonly { readonly entry: Waiting }[], maxBatch: number): number {
  const most = Math.min(queue.length, maxBatch);
  let bytes = 0;
  for (let length = 0; length < most; length++) {
    bytes += queue[length]?.entry.bytes ?? 0;
    if (bytes > MAX_BATCH_BYTES && length > 0) return length;
  }
  return most;
}
