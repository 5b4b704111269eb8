import type { LoadResult } from './load/load.js';
import { median } from './load/percentile.js';

/** The figures of one round of a scenario; `null` where one has no meaning or could not be measured. */
export interface Sample {
  readonly rate: number | null;
  readonly serverCpuMs: number | null;
  readonly databaseCpuMs: number | null;
  readonly loadCpuMs: number | null;
  readonly p50Ms: number | null;
  readonly p99Ms: number | null;
  readonly rssMib: number | null;
}

/** A sample of which only these figures are known. */
export function sampleWith(figures: Partial<Sample>): Sample {
  return {
    rate: null,
    serverCpuMs: null,
    databaseCpuMs: null,
    loadCpuMs: null,
    p50Ms: null,
    p99Ms: null,
    rssMib: null,
    ...figures,
  };
}

/** The samples of a scenario, a round each. */
export interface Measured {
  readonly name: string;
  readonly samples: readonly Sample[];
}

/** The sample of one run of the load generator. */
export function sampleOf(result: LoadResult): Sample {
  const { requests, seconds, serverCpuMs, databaseCpuMs, loadCpuMs, p50Ms, p99Ms, rssMib } = result;
  return { rate: requests / seconds, serverCpuMs, databaseCpuMs, loadCpuMs, p50Ms, p99Ms, rssMib };
}

/** The median of the rounds that have the figure; `null` when none has. */
export function middle({ samples }: Measured, figure: keyof Sample): number | null {
  const values = samples.map((sample) => sample[figure]).filter((value) => value !== null);
  return values.length === 0 ? null : median(values);
}

/** The spread of the rounds: half the distance of the extremes, as a share of the median. */
export function spread(measured: Measured, figure: keyof Sample): number | null {
  const centre = middle(measured, figure);
  if (centre === null) return null;
  const values = measured.samples.map((sample) => sample[figure] ?? centre);
  return (Math.max(...values) - Math.min(...values)) / 2 / centre;
}
