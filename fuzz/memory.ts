/** How much of the growth is allowed: what a heap that is in use takes more, and what a case may hold at a time. */
const FACTOR = 1.3;
const MARGIN_MIB = 40;
/** With fewer measurements than this, at two a second, the heap has not reached its usual size. */
const MEASUREMENTS_MIN = 40;

/** Whether memory went on growing after the first third of a run. @param mib measurements at equal intervals */
export function memoryProblems(mib: readonly number[]): string[] {
  if (mib.length < MEASUREMENTS_MIN) return [];
  const [early, late] = [median(third(mib, 1)), median(third(mib, 2))];
  const limit = early * FACTOR + MARGIN_MIB;
  if (late <= limit) return [];
  return [
    `Memory grew: ${early.toFixed(0)} MiB in the second third of the run, ${late.toFixed(0)} MiB in the last.`,
  ];
}

function third(values: readonly number[], index: number): number[] {
  return values.slice((values.length * index) / 3, (values.length * (index + 1)) / 3);
}

function median(values: readonly number[]): number {
  return [...values].sort((one, other) => one - other)[Math.floor(values.length / 2)] ?? 0;
}
