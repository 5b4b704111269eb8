import { FIGURES, type Figure, type Measured, middle, spread } from '../figures.js';
import { judge } from '../goals.js';

/** The figures of every scenario, medians of the rounds, each beside its goals, as a Markdown table. */
export function figureTable(all: readonly Measured[]): string {
  const columns = Object.entries(FIGURES).flatMap(([figure, { column, decimals }]) =>
    column === undefined ? [] : [{ figure: figure as Figure, column, decimals }],
  );
  const rows = all.map((measured) => {
    const [rate, ...figures] = columns.map(({ figure, decimals }) =>
      number(middle(measured, figure), decimals),
    );
    const verdicts = measured.goals.map((goal) => judge(goal, measured, all));
    const judged = (['reached', 'toReach', 'ok'] as const).map((part) =>
      verdicts.map((verdict) => verdict[part]).join('; '),
    );
    return [measured.name, rate ?? '', percent(spread(measured, 'rate')), ...figures, ...judged];
  });
  const [rate = '', ...titles] = columns.map(({ column }) => column);
  return table(['scenario', rate, '±', ...titles, 'reached', 'to reach', 'ok'], rows);
}

/** A Markdown table, its columns aligned so that it also reads well as text; all but the first hold figures. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((_, column) => Math.max(...[head, ...rows].map((row) => row[column]?.length ?? 0)));
  const align = (cell: string, column: number): string =>
    column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0);
  const line = (cells: readonly string[]): string => `| ${cells.map(align).join(' | ')} |`;
  const rule = widths.map((width, column) =>
    column === 0 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`,
  );
  return [head, rule, ...rows].map(line).join('\n');
}

function number(value: number | undefined, decimals: number): string {
  return (
    value?.toLocaleString('en', { minimumFractionDigits: decimals, maximumFractionDigits: decimals }) ?? ''
  );
}

function percent(value: number | undefined): string {
  return value === undefined ? '' : `${(value * 100).toFixed(0)} %`;
}
