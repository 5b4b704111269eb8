import type { Measured, Sample } from './figures.js';
import { percentile } from './load/percentile.js';

/** The figures that goals speak of; `of` stands before the name of the scenario with which it is compared. */
const FIGURES = {
  rate: { take: ({ rate }) => rate, decimals: 0, unit: 'requests/s', of: '' },
  /** CPU time of the server for a request. */
  cpu: { take: ({ serverCpuMs }) => serverCpuMs, decimals: 3, unit: 'ms CPU', of: 'CPU of ' },
  /** CPU time of server and database for a request. */
  cost: { take: costOf, decimals: 3, unit: 'ms CPU', of: 'CPU of ' },
  p50: { take: ({ p50Ms }) => p50Ms, decimals: 0, unit: 'ms', of: 'p50 of ' },
  p99: { take: ({ p99Ms }) => p99Ms, decimals: 2, unit: 'ms', of: 'p99 of ' },
  memory: { take: ({ rssMib }) => rssMib, decimals: 0, unit: 'MiB', of: 'memory of ' },
} as const satisfies Record<
  string,
  { take: (sample: Sample) => number | null; decimals: number; unit: string; of: string }
>;

/** The figure that a scenario must reach: in its own unit, or relative to another scenario of the same run. */
export type Goal = {
  readonly figure: keyof typeof FIGURES;
  /** The scenario by whose figure it is divided. */
  readonly times?: string;
  /** The scenario whose figure is subtracted from it. */
  readonly over?: string;
} & ({ readonly atLeast: number } | { readonly atMost: number });

/** The state of a goal. */
export interface Verdict {
  /** The median of the rounds and, in parentheses, their quartiles. */
  readonly measured: string;
  readonly toReach: string;
  readonly ok: 'yes' | 'NO' | 'open';
}

/**
 * Judges by the quartiles of the rounds; what is compared is compared within each round first. A goal is reached when
 * even the worse quartile reaches it, and missed when even the better one misses it. Between the two it is open: the
 * rounds are further from each other than from the goal.
 *
 * @throws Error when no scenario of the run has the name that the goal gives
 */
export function judge(goal: Goal, measured: Measured, all: readonly Measured[]): Verdict {
  const values = Float64Array.from(valuesOf(goal, measured, all)).sort();
  const [low, middle, high] = [percentile(values, 25), percentile(values, 50), percentile(values, 75)];
  const { decimals, unit, of } = FIGURES[goal.figure];
  const [scale, digits] = goal.times === undefined ? [unit, decimals] : ['×', 2];
  const beside = goal.times === undefined ? '' : ` ${of}${goal.times}`;
  const over = goal.over === undefined ? '' : ` over ${goal.over}`;
  const show = (value: number): string => value.toFixed(digits);
  const reached = `${show(middle)} (${show(low)} to ${show(high)}) ${scale}${beside}${over}`;
  return 'atLeast' in goal
    ? verdict(reached, `≥ ${goal.atLeast} ${scale}`, low >= goal.atLeast, high < goal.atLeast)
    : verdict(reached, `≤ ${goal.atMost} ${scale}`, high <= goal.atMost, low > goal.atMost);
}

function verdict(measured: string, toReach: string, reached: boolean, missed: boolean): Verdict {
  return { measured, toReach, ok: reached ? 'yes' : missed ? 'NO' : 'open' };
}

/** The figure, or how it compares, in every round in which it was seen. */
function valuesOf({ figure, times, over }: Goal, measured: Measured, all: readonly Measured[]): number[] {
  const { take } = FIGURES[figure];
  const others = samplesOf(times ?? over ?? measured.name, all);
  return measured.samples.flatMap((sample, round) => {
    const other = others[round];
    const value = take(sample);
    const base = other === undefined ? null : take(other);
    if (value === null || base === null) return [];
    if (times !== undefined) return [value / base];
    return [over === undefined ? value : value - base];
  });
}

function samplesOf(name: string, all: readonly Measured[]): readonly Sample[] {
  const found = all.find((measured) => measured.name === name);
  if (found === undefined) throw new Error(`No scenario is called "${name}".`);
  return found.samples;
}

function costOf({ serverCpuMs, databaseCpuMs }: Sample): number | null {
  return serverCpuMs === null ? null : serverCpuMs + (databaseCpuMs ?? 0);
}
