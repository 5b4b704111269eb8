import DataLoader from 'dataloader';
import { isWanted, NotSent, type Waiting } from './waiting.js';

/** The most entries of one statement: large enough to share its cost, small enough to stay short. */
const MAX_BATCH = 64;
/** The most concurrent statements of one kind: a distant database carries more only by more of them. */
const MAX_UNDER_WAY = 4;

/**
 * Joins calls that arrive while the database is busy into one batch. A single call is sent at once, and a full batch
 * beside up to three others.
 *
 * @param second when to send a second statement beside the first: as soon as there is a call for it, or,
 *   where a statement costs the database more than its entries do, only when more calls wait than fit into it
 * @param run answers a batch: an outcome, or an `Error`, for each entry in order. It gets only entries for which somebody
 *   still waits.
 */
export function batched<Entry extends Waiting, Outcome>(
  second: 'at once' | 'when full',
  run: (entries: readonly Entry[]) => Promise<readonly (Outcome | Error)[]>,
): (entry: Entry) => Promise<Outcome> {
  let underWay = 0;
  const waiting: (() => void)[] = [];

  function goOut(): void {
    // All waiting batches but the last are full.
    const most = waiting.length > 1 ? MAX_UNDER_WAY : second === 'at once' ? 2 : 1;
    if (underWay >= most) return;
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
    if (wanted.length === entries.length) return run(entries);
    const outcomes = new Map(wanted.length === 0 ? [] : zip(wanted, await run(wanted)));
    return entries.map((entry) => (outcomes.has(entry) ? (outcomes.get(entry) as Outcome) : new NotSent()));
  }

  const loader = new DataLoader<Entry, Outcome>((entries) => runWanted(entries).finally(next), {
    cache: false,
    maxBatchSize: MAX_BATCH,
    // Calls that Node reads in one turn join one batch.
    batchScheduleFn: (dispatch) => setImmediate(queue, dispatch),
  });
  return (entry) => loader.load(entry);
}

function zip<A, B>(these: readonly A[], those: readonly B[]): [A, B][] {
  return these.map((each, i) => [each, those[i] as B]);
}
