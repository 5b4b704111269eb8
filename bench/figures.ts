import { median } from './load/percentile.js';

/** The figures of a scenario, and their columns in the tables. */
export const FIGURES = {
  rate: { column: 'requests/s', decimals: 0 },
  /** CPU time per request: of the server, of the database, of both, and of the load generator. */
  serverCpuMs: { column: 'server CPU ms', decimals: 3 },
  databaseCpuMs: { column: 'database CPU ms', decimals: 3 },
  cpuMs: { column: 'both CPU ms', decimals: 3 },
  loadCpuMs: { column: 'load CPU ms', decimals: 3 },
  /** Latency percentiles; in an open loop, latency counts from the time when a request is due. */
  p50Ms: { column: 'p50 ms', decimals: 2 },
  p99Ms: { column: 'p99 ms', decimals: 2 },
  /** Resident memory of the server's processes at the end of the round. */
  rssMib: { column: 'RSS MiB', decimals: 0 },
} as const;

export type Figure = keyof typeof FIGURES;

/** The figures of one round. Those that do not apply or could not be measured are absent. */
export type Sample = Readonly<Partial<Record<Figure, number>>>;

/** A scenario's samples, one per round. */
export interface Measured {
  readonly name: string;
  readonly samples: readonly Sample[];
}

/** The median over the rounds that have the figure; undefined when none has. */
export function middle({ samples }: Measured, figure: Figure): number | undefined {
  const values = samples.flatMap((sample) => sample[figure] ?? []);
  return values.length === 0 ? undefined : median(values);
}

/** Half the range over the rounds, as a fraction of the median; undefined when no round has the figure. */
export function spread(measured: Measured, figure: Figure): number | undefined {
  const centre = middle(measured, figure);
  if (centre === undefined) return undefined;
  const values = measured.samples.map((sample) => sample[figure] ?? centre);
  return (Math.max(...values) - Math.min(...values)) / 2 / centre;
}
