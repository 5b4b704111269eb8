import { type Figure, middle } from '../figures.js';
import { type Ratio, ratioOf } from '../ratio.js';
import type { Pair } from '../side-by-side.js';
import { number, table } from './table.js';

/** The most CPU time that a request may cost, as a multiple of its cost in the previous version. */
const MOST = 1.05;

/** A table of each call's rate and CPU time on both sides, with the ratios and their quartiles over the rounds. */
export function pairTable(pairs: readonly Pair[], [base, other]: readonly [string, string]): string {
  const cells = ({ base: one, other: two }: Pair, figure: Figure, decimals: number): string[] => [
    number(middle(one, figure), decimals),
    number(middle(two, figure), decimals),
    times(ratioOf(figure, two, one)),
  ];
  return table(
    ['call', `requests/s, ${base}`, other, '×', `CPU ms, ${base}`, other, '×'],
    pairs.map((pair) => [pair.name, ...cells(pair, 'rate', 0), ...cells(pair, 'serverCpuMs', 3)]),
  );
}

/** An error message for each call that costs more on the other side than `MOST` allows. */
export function tooDear(pairs: readonly Pair[]): string[] {
  return pairs.flatMap(({ name, base, other }) => {
    const ratio = ratioOf('serverCpuMs', other, base);
    return ratio === undefined || ratio.middle <= MOST
      ? []
      : [
          `${name} costs ${times(ratio)} times the CPU time of the version before; at most ${MOST} is allowed.`,
        ];
  });
}

function times(ratio: Ratio | undefined): string {
  return ratio === undefined
    ? ''
    : `${number(ratio.middle, 2)} (${number(ratio.low, 2)} to ${number(ratio.high, 2)})`;
}
