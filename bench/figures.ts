import { median } from './load/percentile.js';

/** The figures of a scenario: their columns in the table, and the words of goals that speak of them. */
export const FIGURES = {
  rate: { column: 'requests/s', unit: 'requests/s', of: '', decimals: 0 },
  /** CPU time for each request: of the server, of the database, of both, and of the load generator. */
  serverCpuMs: { column: 'server CPU ms', unit: 'ms CPU', of: 'CPU of ', decimals: 3 },
  databaseCpuMs: { column: 'database CPU ms', unit: 'ms CPU', of: 'database CPU of ', decimals: 3 },
  cpuMs: { column: undefined, unit: 'ms CPU', of: 'CPU of ', decimals: 3 },
  loadCpuMs: { column: 'load CPU ms', unit: 'ms CPU', of: 'load CPU of ', decimals: 3 },
  /** Half of the requests, and 99 of 100, were answered within this time; of an open loop since they were due. */
  p50Ms: { column: 'p50 ms', unit: 'ms', of: 'p50 of ', decimals: 2 },
  p99Ms: { column: 'p99 ms', unit: 'ms', of: 'p99 of ', decimals: 2 },
  /** Resident memory of the server's processes at the end. */
  rssMib: { column: 'RSS MiB', unit: 'MiB', of: 'memory of ', decimals: 0 },
} as const;

export type Figure = keyof typeof FIGURES;

/** The figures of one round, without those that have no meaning or could not be measured. */
export type Sample = Readonly<Partial<Record<Figure, number>>>;

/** The figure that a scenario must reach: in its own unit, or relative to another scenario of the same group. */
export type Goal = {
  readonly figure: Figure;
  /** The scenario by whose figure it is divided. */
  readonly times?: string;
  /** The scenario whose figure is subtracted from it. */
  readonly over?: string;
} & ({ readonly atLeast: number } | { readonly atMost: number });

/** A scenario's goals and its samples, one of each round. */
export interface Measured {
  readonly name: string;
  readonly goals: readonly Goal[];
  readonly samples: readonly Sample[];
}

/** The median of the rounds that have the figure; nothing when none has. */
export function middle({ samples }: Measured, figure: Figure): number | undefined {
  const values = samples.flatMap((sample) => sample[figure] ?? []);
  return values.length === 0 ? undefined : median(values);
}

/** The spread of the rounds: half the distance of the extremes, as a share of the median. */
export function spread(measured: Measured, figure: Figure): number | undefined {
  const centre = middle(measured, figure);
  if (centre === undefined) return undefined;
  const values = measured.samples.map((sample) => sample[figure] ?? centre);
  return (Math.max(...values) - Math.min(...values)) / 2 / centre;
}
