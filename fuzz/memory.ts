import { median } from '../bench/load/percentile.js';

/** With fewer measurements than this, the heap has not yet reached its steady state. */
const MEASUREMENTS_MIN = 12;
/** What the heap may grow by, for running cases. */
const FACTOR = 1.1;
const MARGIN_MIB = 8;

/**
 * Returns a problem if the heap keeps growing after the first third of a run.
 *
 * @param mib measured every few seconds, after a garbage collection
 */
export function heapProblems(mib: readonly number[]): string[] {
  if (mib.length < MEASUREMENTS_MIN) return [];
  const [early = 0, late = 0] = [1, 2].map((third) =>
    median(mib.slice((mib.length * third) / 3, (mib.length * (third + 1)) / 3)),
  );
  if (late <= early * FACTOR + MARGIN_MIB) return [];
  return [
    `The heap grew: ${early.toFixed(0)} MiB in the second third of the run, ${late.toFixed(0)} MiB in the last.`,
  ];
}
