import type { Curve, Point } from '../offered-load.js';

const PANEL = { width: 420, height: 300, left: 64, top: 36, gap: 90 };
const COLOURS = ['#0b7285', '#e8590c', '#5f3dc4', '#2b8a3e', '#c2255c'];
const LEGEND_LINE = 18;

/** The vertical axis of one panel. */
interface Axis {
  readonly title: string;
  readonly value: (point: Point) => number;
  readonly ticks: readonly number[];
  readonly logarithmic: boolean;
}

/** Throughput and p99 against offered load, side by side, as an SVG document. */
export function plotOfferedLoad(curves: readonly Curve[]): string {
  const most = Math.max(...curves.flatMap(({ points }) => points.map(({ offered }) => offered)));
  const ticks = linearTicks(most);
  const axes: readonly Axis[] = [
    { title: 'answered, requests/s', value: ({ answered }) => answered, ticks, logarithmic: false },
    { title: 'p99, ms', value: ({ p99Ms }) => p99Ms, ticks: [0.1, 1, 10, 100, 1_000], logarithmic: true },
  ];
  const width = axes.length * (PANEL.width + PANEL.gap);
  const legendTop = PANEL.top + PANEL.height + 56;
  const height = legendTop + curves.length * LEGEND_LINE;
  const panels = axes.map((axis, i) =>
    panel(axis, curves, ticks, PANEL.left + i * (PANEL.width + PANEL.gap)),
  );
  const legend = curves.map(({ name }, i) => {
    const y = legendTop + i * LEGEND_LINE;
    return `<path d="M${PANEL.left} ${y - 4}h24" stroke="${colour(i)}" stroke-width="2"/>${text(PANEL.left + 32, y, name)}`;
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="12">`,
    `<rect width="${width}" height="${height}" fill="white"/>`,
    ...panels,
    ...legend,
    '</svg>',
    '',
  ].join('\n');
}

function panel(axis: Axis, curves: readonly Curve[], xTicks: readonly number[], left: number): string {
  const bottom = PANEL.top + PANEL.height;
  const x = scale(xTicks, left, left + PANEL.width, false);
  const y = scale(axis.ticks, bottom, PANEL.top, axis.logarithmic);
  const grid = axis.ticks.map(
    (tick) =>
      `<path d="M${left} ${y(tick)}h${PANEL.width}" stroke="#dee2e6"/>${text(left - 6, y(tick) + 4, label(tick), 'end')}`,
  );
  const feet = xTicks.map((tick) => text(x(tick), bottom + 18, label(tick), 'middle'));
  const lines = curves.map(({ points }, i) => {
    const corners = points.map((point) => `${x(point.offered)},${y(axis.value(point))}`).join(' ');
    return `<polyline points="${corners}" fill="none" stroke="${colour(i)}" stroke-width="2"/>`;
  });
  return [
    text(left, PANEL.top - 14, axis.title),
    ...grid,
    ...feet,
    text(left + PANEL.width / 2, bottom + 36, 'offered, requests/s', 'middle'),
    ...lines,
  ].join('\n');
}

/** The position of a value between two coordinates; values beyond the ticks lie on the edge. */
function scale(
  ticks: readonly number[],
  from: number,
  to: number,
  logarithmic: boolean,
): (value: number) => number {
  const measure = logarithmic ? Math.log10 : (value: number) => value;
  const low = measure(Math.min(...ticks));
  const high = measure(Math.max(...ticks));
  return (value) => {
    const share = Math.min(1, Math.max(0, (measure(value) - low) / (high - low)));
    return Math.round((from + share * (to - from)) * 10) / 10;
  };
}

/** Zero to four round steps that reach the value. */
function linearTicks(most: number): number[] {
  const step = 10 ** Math.floor(Math.log10(most / 4));
  const width = Math.ceil(most / 4 / step) * step;
  return [0, 1, 2, 3, 4].map((i) => i * width);
}

function label(value: number): string {
  return value.toLocaleString('en');
}

function colour(i: number): string {
  return COLOURS[i % COLOURS.length] ?? '';
}

function text(x: number, y: number, content: string, anchor = 'start'): string {
  return `<text x="${x}" y="${y}" text-anchor="${anchor}">${content}</text>`;
}
