import { type Measured, middle, spread } from '../figures.js';
import { type Goal, judge, type Verdict } from '../goals.js';

/** A scenario as the table shows it. */
export interface Row {
  readonly measured: Measured;
  readonly verdicts: readonly Verdict[];
}

const HEAD = [
  'scenario',
  'requests/s',
  '±',
  'server CPU ms',
  'database CPU ms',
  'load CPU ms',
  'p50 ms',
  'p99 ms',
  'RSS MiB',
  'reached',
  'to reach',
  'ok',
];

/** The rows of everything that a run measured, each beside its goals, in the same order. */
export function rowsOf(all: readonly Measured[], goals: readonly (readonly Goal[])[]): Row[] {
  return all.map((measured, i) => ({
    measured,
    verdicts: (goals[i] ?? []).map((goal) => judge(goal, measured, all)),
  }));
}

/** The figures of every scenario, medians of the rounds, as a Markdown table. */
export function figureTable(rows: readonly Row[]): string {
  return table(
    HEAD,
    rows.map(({ measured, verdicts }) => [
      measured.name,
      number(middle(measured, 'rate'), 0),
      percent(spread(measured, 'rate')),
      number(middle(measured, 'serverCpuMs'), 3),
      number(middle(measured, 'databaseCpuMs'), 3),
      number(middle(measured, 'loadCpuMs'), 3),
      number(middle(measured, 'p50Ms'), 2),
      number(middle(measured, 'p99Ms'), 2),
      number(middle(measured, 'rssMib'), 0),
      verdicts.map((verdict) => verdict.measured).join('; '),
      verdicts.map(({ toReach }) => toReach).join('; '),
      verdicts.map(({ ok }) => ok).join('; '),
    ]),
  );
}

/** A Markdown table, its columns aligned so that it also reads well as text; all but the first hold figures. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((title, column) =>
    Math.max(title.length, ...rows.map((row) => (row[column] ?? '').length)),
  );
  const line = (cells: readonly string[]): string =>
    `| ${widths.map((width, column) => align(cells[column] ?? '', width, column)).join(' | ')} |`;
  const rule = widths.map((width, column) => '-'.repeat(column === 0 ? width : width - 1));
  const ruleLine = `| ${rule.map((dashes, column) => (column === 0 ? dashes : `${dashes}:`)).join(' | ')} |`;
  return [line(head), ruleLine, ...rows.map(line)].join('\n');
}

function align(cell: string, width: number, column: number): string {
  return column === 0 ? cell.padEnd(width) : cell.padStart(width);
}

function number(value: number | null, decimals: number): string {
  if (value === null) return '';
  return value.toLocaleString('en', { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
}

function percent(value: number | null): string {
  return value === null ? '' : `${(value * 100).toFixed(0)} %`;
}
