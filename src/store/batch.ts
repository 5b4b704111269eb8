import DataLoader from 'dataloader';

/** Most entries of one statement: large enough to share its cost, small enough to stay a short statement. */
const MAX_BATCH = 64;
/** Most statements of one kind at a time: a second one fills the pauses of the first. */
const MAX_UNDER_WAY = 2;

/**
 * Joins calls that come while the database is busy into one. A call that comes alone goes out at once.
 *
 * @param run answers a batch: an outcome, or an `Error`, for each entry in its order
 */
export function batched<Entry, Outcome>(
  run: (entries: readonly Entry[]) => Promise<readonly (Outcome | Error)[]>,
): (entry: Entry) => Promise<Outcome> {
  let underWay = 0;
  const waiting: (() => void)[] = [];

  function goOut(dispatch: () => void): void {
    if (underWay < MAX_UNDER_WAY) {
      underWay++;
      dispatch();
    } else {
      waiting.push(dispatch);
    }
  }

  function next(): void {
    underWay--;
    const dispatch = waiting.shift();
    if (dispatch !== undefined) goOut(dispatch);
  }

  const loader = new DataLoader<Entry, Outcome>((entries) => run(entries).finally(next), {
    cache: false,
    maxBatchSize: MAX_BATCH,
    // Calls that Node takes in together find each other in one batch.
    batchScheduleFn: (dispatch) => setImmediate(goOut, dispatch),
  });
  return (entry) => loader.load(entry);
}
