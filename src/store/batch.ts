import DataLoader from 'dataloader';

/** Most entries of one statement: large enough to share its cost, small enough to stay a short statement. */
const MAX_BATCH = 64;
/** Most statements of one kind at a time: a second one fills the pauses of the first. */
const MAX_UNDER_WAY = 2;

/**
 * Joins calls that come while the database is busy into one. A call that comes alone goes out at once.
 *
 * @param second when a second statement goes out beside the first: as soon as there is a call for it, or, where
 *   each costs the database more than its entries do, when more calls wait than fit into it
 * @param run answers a batch: an outcome, or an `Error`, for each entry in its order
 */
export function batched<Entry, Outcome>(
  second: 'at once' | 'when full',
  run: (entries: readonly Entry[]) => Promise<readonly (Outcome | Error)[]>,
): (entry: Entry) => Promise<Outcome> {
  let underWay = 0;
  const waiting: (() => void)[] = [];

  function goOut(): void {
    // All that wait but the last are full.
    const mayBeSecond = second === 'at once' || waiting.length > 1;
    if (underWay >= (mayBeSecond ? MAX_UNDER_WAY : 1)) return;
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

  const loader = new DataLoader<Entry, Outcome>((entries) => run(entries).finally(next), {
    cache: false,
    maxBatchSize: MAX_BATCH,
    // Calls that Node takes in together find each other in one batch.
    batchScheduleFn: (dispatch) => setImmediate(queue, dispatch),
  });
  return (entry) => loader.load(entry);
}
