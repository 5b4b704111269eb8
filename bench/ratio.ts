import type { Figure, Measured } from './figures.js';
import { percentile } from './load/percentile.js';

/** A figure as a multiple of another scenario's: the median over the rounds, and the quartiles. */
export interface Ratio {
  readonly low: number;
  readonly middle: number;
  readonly high: number;
}

/**
 * The ratio of a figure between two scenarios. It is computed within each round first, so that a machine whose speed
 * varies between rounds does not distort it.
 *
 * @returns undefined when no round has the figure of both scenarios
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
