import { CONTENDERS, type Kind, KINDS, scenarioName } from './contenders.js';
import { shown, valuesOf } from './figures.js';
import { median } from './load/percentile.js';
import type { Run } from './report.js';

const WIDTH = 880;
const PANEL = { top: 58, width: 424, head: 24, foot: 26 };
const BAR = { left: 232, most: 92, height: 15, step: 23 };
const COLUMNS = 2;

/** Light and dark colours, with a background, since the page around the chart may ignore the reader's colour scheme. */
const STYLE = `
    text { font: 13px system-ui, -apple-system, "Segoe UI", sans-serif; fill: #1f2328 }
    .title { font-size: 15px; font-weight: 600 } .soft { fill: #59636e } .ground { fill: #ffffff }
    .own { fill: #0b7285 } .peer { fill: #afb8c1 } .bare { fill: none; stroke: #8c959f; stroke-dasharray: 3 2 }
    .bold { font-weight: 600 } .range { stroke: #1f2328 }
    @media (prefers-color-scheme: dark) {
      text { fill: #f0f6fc } .soft { fill: #9198a1 } .ground { fill: #0d1117 }
      .own { fill: #3bc9db } .peer { fill: #57606a } .range { stroke: #f0f6fc } .bare { stroke: #768390 }
    }`;

interface Bar {
  readonly name: string;
  readonly role: (typeof CONTENDERS)[number]['role'];
  /** Requests per second, one for each round. */
  readonly rates: readonly number[];
}

/** Draws the requests per second of every contender as an SVG document, with a panel for each kind of request. A line marks the range of the rounds. */
export function peerChart(run: Run): string {
  const panels = KINDS.map((kind) => ({ kind, bars: barsOf(run, kind) }));
  // A row of panels is as high as its tallest panel.
  const rows = panels.flatMap((_, i) => (i % COLUMNS === 0 ? [panels.slice(i, i + COLUMNS)] : []));
  const heights = rows.map(
    (row) => PANEL.head + Math.max(...row.map(({ bars }) => bars.length)) * BAR.step + PANEL.foot,
  );
  const topOf = (row: number): number =>
    PANEL.top + heights.slice(0, row).reduce((sum, each) => sum + each, 0);
  const height = topOf(rows.length);
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="Requests per second">`,
    `<style>${STYLE}\n</style>`,
    `<rect class="ground" width="${WIDTH}" height="${height}" rx="6"/>`,
    text(16, 28, 'Requests per second: more is better', 'title'),
    text(WIDTH - 16, 28, 'line: all rounds; dashed: bare servers, which do nothing else', 'soft', 'end'),
    ...panels.flatMap(({ kind, bars }, i) => {
      const left = 16 + (i % COLUMNS) * PANEL.width;
      // Both protocols of an operation use the same scale.
      const beside = panels.filter((other) => other.kind.operation === kind.operation);
      const most = Math.max(...beside.flatMap((panel) => panel.bars).flatMap(({ rates }) => rates));
      return panel(kind.name, bars, most, left, topOf(Math.floor(i / COLUMNS)));
    }),
    '</svg>',
    '',
  ].join('\n');
}

/** The bars of a panel, fastest first. */
function barsOf(run: Run, kind: Kind): Bar[] {
  return CONTENDERS.flatMap((contender): Bar[] => {
    const row = run.rows.find(({ name }) => name === scenarioName(kind, contender));
    const { name, role, creates } = contender;
    return row === undefined || creates !== undefined ? [] : [{ name, role, rates: valuesOf(row, 'rate') }];
  }).sort((a, b) => median(b.rates) - median(a.rates));
}

function panel(title: string, bars: readonly Bar[], most: number, left: number, top: number): string[] {
  return [
    text(left, top + 12, title, 'title'),
    ...bars.flatMap(({ name, role, rates }, i) => {
      const y = top + PANEL.head + i * BAR.step;
      const x = left + BAR.left;
      const long = (rate: number): number => Math.max(1, Math.round((rate / most) * BAR.most));
      const [low, high] = [x + long(Math.min(...rates)), x + long(Math.max(...rates))];
      const middle = y + BAR.height / 2;
      const own = role === 'own' ? 'bold' : 'soft';
      return [
        text(x - 8, y + 12, name, own, 'end'),
        `<rect class="${role}" x="${x}" y="${y}" width="${long(median(rates))}" height="${BAR.height}" rx="2"/>`,
        `<path class="range" d="M${low} ${middle}H${high}M${low} ${middle - 3}v6M${high} ${middle - 3}v6"/>`,
        text(high + 6, y + 12, shown(rates), own),
      ];
    }),
  ];
}

function text(x: number, y: number, content: string, style: string, anchor = 'start'): string {
  return `<text x="${x}" y="${y}" class="${style}" text-anchor="${anchor}">${content}</text>`;
}
