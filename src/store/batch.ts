import DataLoader from 'dataloader';
import type { Signal } from '../registry/route-store.js';

/** An entry that waits for the database until its signal is aborted. */
export interface Waiting {
  readonly signal: Signal | undefined;
}

/** Whether the caller still wants the outcome. */
export function isWanted({ signal }: Waiting): boolean {
  return signal?.aborted !== true;
}

/** The caller no longer wanted the outcome when the statement could be sent. */
export class NotSent extends Error {
  override readonly name = 'NotSent';

  constructor() {
    super('The call ended before its statement was sent.');
  }
}

/** The most entries of one statement: enough to share its cost, few enough to keep it short. */
const MAX_BATCH = 64;

/** How many statements of one kind may run at a time. */
interface Pace {
  /** The most concurrent statements while all waiting calls fit into one batch. */
  readonly most: number;
  /** The most concurrent statements while more calls wait: a distant database serves more only with concurrency. */
  readonly mostWhenFull: number;
}

const PACES = {
  /** A second statement is sent alongside the first as soon as a call is waiting. */
  'at once': { most: 2, mostWhenFull: 4 },
  /** For statements whose fixed cost to the database exceeds the cost of their entries. */
  'when full': { most: 1, mostWhenFull: 4 },
} as const satisfies Record<string, Pace>;

/**
 * Combines calls that arrive while the database is busy into one batch. Otherwise, a call is sent at once.
 *
 * @param run executes a batch of entries that are still wanted; resolves with an outcome, or an `Error`, for each entry
 *   in order
 */
export function batched<Entry extends Waiting, Outcome>(
  pace: keyof typeof PACES,
  run: (entries: readonly Entry[]) => Promise<readonly (Outcome | Error)[]>,
): (entry: Entry) => Promise<Outcome> {
  const { most, mostWhenFull }: Pace = PACES[pace];
  let underWay = 0;
  const waiting: (() => void)[] = [];

  function goOut(): void {
    // All waiting batches except the last are full.
    if (underWay >= (waiting.length > 1 ? mostWhenFull : most)) return;
    const dispatch = waiting.shift();
    if (dispatch === undefined) return;
    underWay++;
    dispatch();
  }

  function queue(dispatch: () => void): void {
    waiting.push(dispatch);
    goOut();
  }

  function next(): void {
    underWay--;
    goOut();
  }

  async function runWanted(entries: readonly Entry[]): Promise<readonly (Outcome | Error)[]> {
    const wanted = entries.filter(isWanted);
    if (wanted.length === 0) {
      next();
      return entries.map(() => new NotSent());
    }
    try {
      const outcomes = await run(wanted);
      if (wanted.length === entries.length) return outcomes;
      const outcomeOf = new Map(zip(wanted, outcomes));
      return entries.map((entry) =>
        outcomeOf.has(entry) ? (outcomeOf.get(entry) as Outcome) : new NotSent(),
      );
    } finally {
      next();
    }
  }

  const loader = new DataLoader<Entry, Outcome>(runWanted, {
    cache: false,
    maxBatchSize: MAX_BATCH,
    // Calls that Node reads in one iteration of the event loop share one batch.
    batchScheduleFn: (dispatch) => setImmediate(queue, dispatch),
  });
  return (entry) => loader.load(entry);
}

function zip<A, B>(these: readonly A[], those: readonly B[]): [A, B][] {
  return these.map((each, i) => [each, those[i] as B]);
}
