/** The growth that is allowed to a kind of memory. */
interface Flatness {
  readonly name: string;
  readonly factor: number;
  readonly marginMib: number;
  /** With fewer measurements than this, memory has not reached its usual size. */
  readonly measurementsMin: number;
}

/** Measured twice a second; allows for the garbage of a heap in use, and for the memory of the cases under way. */
const RESIDENT: Flatness = {
  name: 'Resident memory',
  factor: 1.3,
  marginMib: 40,
  measurementsMin: 40,
};
/** Measured every few seconds, after a garbage collection; allows for the memory of the cases under way. */
const HEAP: Flatness = {
  name: 'The heap',
  factor: 1.1,
  marginMib: 8,
  measurementsMin: 12,
};

/** A problem if resident memory went on growing after the first third of a run. @param mib measured at equal intervals */
export function residentProblems(mib: readonly number[]): string[] {
  return problems(mib, RESIDENT);
}

/** A problem if the heap, without garbage, went on growing after the first third of a run. @param mib as above */
export function heapProblems(mib: readonly number[]): string[] {
  return problems(mib, HEAP);
}

/** Whether a run was long enough for its resident memory to be judged. @param mib measured so far */
export function isJudged(mib: readonly number[]): boolean {
  return mib.length >= RESIDENT.measurementsMin;
}

function problems(mib: readonly number[], { name, factor, marginMib, measurementsMin }: Flatness): string[] {
  if (mib.length < measurementsMin) return [];
  const [early, late] = [median(third(mib, 1)), median(third(mib, 2))];
  if (late <= early * factor + marginMib) return [];
  return [
    `${name} grew: ${early.toFixed(0)} MiB in the second third of the run, ${late.toFixed(0)} MiB in the last.`,
  ];
}

function third(values: readonly number[], index: number): number[] {
  return values.slice((values.length * index) / 3, (values.length * (index + 1)) / 3);
}

function median(values: readonly number[]): number {
  return [...values].sort((one, other) => one - other)[Math.floor(values.length / 2)] ?? 0;
}
