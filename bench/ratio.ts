import type { Figure, Measured } from './figures.js';
import { percentile } from './load/percentile.js';

/** How a figure compares with another scenario's: the median of the rounds, and their quartiles. */
export interface Ratio {
  readonly low: number;
  readonly middle: number;
  readonly high: number;
}

/**
 * A figure of a scenario as a multiple of another's. It is taken within each round first, so that a machine whose speed
 * changes from round to round changes no ratio.
 *
 * @returns undefined when no round has the figure of both
 */
export function ratioOf(figure: Figure, { samples }: Measured, other: Measured): Ratio | undefined {
  const values = samples.flatMap((sample, round) => {
    const value = sample[figure];
    const base = other.samples[round]?.[figure];
    return value === undefined || base === undefined ? [] : [value / base];
  });
  if (values.length === 0) return undefined;
  const sorted = Float64Array.from(values).sort();
  return { low: percentile(sorted, 25), middle: percentile(sorted, 50), high: percentile(sorted, 75) };
}
