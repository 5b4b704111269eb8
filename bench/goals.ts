import { FIGURES, type Goal, type Measured } from './figures.js';
import { percentile } from './load/percentile.js';

/** The state of a goal. */
interface Verdict {
  /** The median of the rounds and, in parentheses, their quartiles. */
  readonly reached: string;
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

function verdict(reached: string, toReach: string, yes: boolean, no: boolean): Verdict {
  return { reached, toReach, ok: yes ? 'yes' : no ? 'NO' : 'open' };
}

/** The figure, or how it compares, in every round in which it was seen. */
function valuesOf(
  { figure, times, over }: Goal,
  { name, samples }: Measured,
  all: readonly Measured[],
): number[] {
  const other = all.find((each) => each.name === (times ?? over ?? name));
  if (other === undefined) throw new Error(`No scenario is called "${times ?? over ?? name}".`);
  return samples.flatMap((sample, round) => {
    const value = sample[figure];
    const base = other.samples[round]?.[figure];
    if (value === undefined || base === undefined) return [];
    if (times !== undefined) return [value / base];
    return [over === undefined ? value : value - base];
  });
}
