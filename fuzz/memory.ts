import { median } from '../bench/load/percentile.js';

/** With fewer measurements than this, resident memory has not yet reached its steady state. */
const RESIDENT_MIN = 40;

/**
 * Returns a problem if resident memory keeps growing after the first third of a run. The tolerance covers uncollected
 * garbage and the memory of running cases. @param mib measured twice a second
 */
export function residentProblems(mib: readonly number[]): string[] {
  return isJudged(mib) ? problems('Resident memory', mib, 1.3, 40) : [];
}

/** The same for the heap. @param mib measured every few seconds, after a garbage collection */
export function heapProblems(mib: readonly number[]): string[] {
  return mib.length >= 12 ? problems('The heap', mib, 1.1, 8) : [];
}

/** Whether a run is long enough to judge its resident memory. @param mib measured so far */
export function isJudged(mib: readonly number[]): boolean {
  return mib.length >= RESIDENT_MIN;
}

function problems(name: string, mib: readonly number[], factor: number, marginMib: number): string[] {
  const [early = 0, late = 0] = [1, 2].map((third) =>
    median(mib.slice((mib.length * third) / 3, (mib.length * (third + 1)) / 3)),
  );
  if (late <= early * factor + marginMib) return [];
  return [
    `${name} grew: ${early.toFixed(0)} MiB in the second third of the run, ${late.toFixed(0)} MiB in the last.`,
  ];
}
