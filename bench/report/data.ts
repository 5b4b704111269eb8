import { FIGURES, type Figure, middle, spread } from '../figures.js';
import { CALLERS } from '../rounds.js';
import type { Run } from './run.js';
import { number, table } from './table.js';

/** Describes where and how the figures were measured. */
export function conditions({ at, machine, database, scale }: Run): string {
  const { rounds, durationMs, routes } = scale;
  const quick = scale.name === 'quick' ? ' A quick run: its figures are rough.' : '';
  return `Measured at ${at} on ${machine}; ${database}. Medians of ${rounds} rounds of ${durationMs / 1_000} s with ${CALLERS} concurrent callers of ${routes.toLocaleString('en')} routes, on the same cores.${quick}`;
}

/** Every figure of the run, as Markdown tables. */
export function rawTables(run: Run): string {
  return [
    '"±" is half the distance between the extremes, as a share of the median. CPU is user and system time per request: of all processes of the server, of the database, of both, and of the load generator.',
    figureTable(run),
  ].join('\n\n');
}

/** The figures of every scenario, as medians over the rounds. */
function figureTable({ rows }: Run): string {
  const [rate, ...others] = Object.entries(FIGURES).map(([figure, shown]) => ({
    figure: figure as Figure,
    ...shown,
  }));
  const columns = rate === undefined ? [] : [rate, ...others];
  const lines = rows.map((measured) => {
    const [first = '', ...figures] = columns.map(({ figure, decimals }) =>
      number(middle(measured, figure), decimals),
    );
    const apart = spread(measured, 'rate');
    return [measured.name, first, apart === undefined ? '' : `${(apart * 100).toFixed(0)} %`, ...figures];
  });
  return table(['scenario', rate?.column ?? '', '±', ...others.map(({ column }) => column)], lines);
}
