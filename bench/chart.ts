import { APART, type Contender, CONTENDERS, type Kind, KINDS, OWN, TUTORIAL } from './contenders.js';
import { isMeasured, NOT_MEASURED, quartilesOf, ratiosOf, valuesOf } from './figures.js';
import { median } from './load/percentile.js';
import { rowOf, type Run } from './run.js';

/** Sizes for a width of 880; on a phone, 390 wide, the text is still 9 pixels high. */
const WIDTH = 880;
const TOP = 96;
const PANEL_FOOT = 56;
const GROUP = { head: 30, foot: 8 };
const BAR = { left: 220, most: 556, height: 24, step: 34 };
/** The most steps of an axis. */
const STEPS = 6;

/** Light and dark colours, with a background, since the page around the chart may ignore the reader's colour scheme. */
const STYLE = `
    text { font: 20px system-ui, -apple-system, "Segoe UI", sans-serif; fill: #1f2328 }
    .title { font-size: 22px; font-weight: 600 } .soft { fill: #59636e } .ground { fill: #ffffff }
    .own { fill: #0b7285 } .peer { fill: #afb8c1 } .bold { font-weight: 600 }
    .range { stroke: #1f2328; stroke-width: 2 } .axis { stroke: #d1d9e0 }
    @media (prefers-color-scheme: dark) {
      text { fill: #f0f6fc } .soft { fill: #9198a1 } .ground { fill: #0d1117 }
      .own { fill: #3bc9db } .peer { fill: #57606a } .range { stroke: #f0f6fc } .axis { stroke: #3d444d }
    }`;

/** Bars that are compared with each other: what they do alike, and each server that does it. */
interface Group {
  readonly title: string;
  readonly bars: readonly Bar[];
}

interface Bar {
  readonly name: string;
  readonly role: 'own' | 'peer';
  /** Requests per second, one for each round. */
  readonly rates: readonly number[];
}

/**
 * Draws the requests per second as an SVG document, with a panel and a scale for each kind of request. Gets from memory
 * stand together, and so do those that query. A line marks the range between the quartiles of the rounds.
 */
export function peerChart(run: Run): string {
  let top = TOP;
  const panels = KINDS.map((kind) => {
    const drawn = panel(kind.name, groupsOf(run, kind), top);
    top += drawn.height;
    return drawn.parts;
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${top}" role="img" aria-label="Requests per second">`,
    `<style>${STYLE}\n</style>`,
    `<rect class="ground" width="${WIDTH}" height="${top}" rx="6"/>`,
    text(16, 36, 'Requests per second: more is better', 'title'),
    text(
      16,
      64,
      `Times the tutorial: ${timesTutorial(run, OWN)} in one process, ${timesTutorial(run, APART)} in two`,
      'soft',
    ),
    ...panels.flat(),
    '</svg>',
    '',
  ].join('\n');
}

/** How many times the tutorial's requests a contender answers in the same round: of its kinds, the least and the most. */
function timesTutorial(run: Run, contender: Contender): string {
  const times = KINDS.flatMap((kind) => {
    const row = rowOf(run, kind, contender);
    const tutorial = rowOf(run, kind, TUTORIAL);
    return row && tutorial ? [median(ratiosOf('rate', row, tutorial))] : [];
  });
  const least = Math.min(...times).toFixed(1);
  const most = Math.max(...times).toFixed(1);
  return least === most ? most : `${least} to ${most}`;
}

/** Gets from memory, and gets that query; of creates there is one group. The fastest comes first. */
function groupsOf(run: Run, kind: Kind): Group[] {
  const bars = (cached: boolean): Bar[] =>
    CONTENDERS.flatMap((contender): Bar[] => {
      const { name, role, creates } = contender;
      const rates = valuesOf(rowOf(run, kind, contender), 'rate');
      const here = kind.operation === 'create' || (contender.cached ?? false) === cached;
      return rates.length === 0 || role === 'bare' || creates !== undefined || !here
        ? []
        : [{ name, role, rates }];
    }).sort((a, b) => median(b.rates) - median(a.rates));
  if (kind.operation === 'create') return [{ title: 'each committed', bars: bars(false) }];
  return [
    { title: 'from memory', bars: bars(true) },
    { title: 'with a query for each', bars: bars(false) },
  ];
}

function panel(kind: string, groups: readonly Group[], top: number): { parts: string[]; height: number } {
  const bars = groups.flatMap((group) => group.bars);
  const most = Math.max(...bars.flatMap(({ rates }) => rates));
  const xOf = (rate: number): number => Math.round(BAR.left + (rate / most) * BAR.most);
  const step = axisStep(most);
  const steps = Array.from({ length: Math.floor(most / step) + 1 }, (_, i) => i * step);
  const bottom = top + groups.length * (GROUP.head + GROUP.foot) + bars.length * BAR.step;
  const parts = steps.map((rate) =>
    text(xOf(rate), bottom + 20, rate.toLocaleString('en'), 'soft', 'middle'),
  );
  let y = top;
  for (const group of groups) {
    parts.push(text(16, y + 18, `${kind}, ${group.title}`, 'title'));
    y += GROUP.head;
    const end = y + group.bars.length * BAR.step;
    parts.push(...steps.map((rate) => `<path class="axis" d="M${xOf(rate)} ${y - 4}V${end}"/>`));
    for (const bar of group.bars) {
      parts.push(...barAt(bar, y, xOf));
      y += BAR.step;
    }
    y += GROUP.foot;
  }
  return { parts, height: bottom + PANEL_FOOT - top };
}

function barAt({ name, role, rates }: Bar, y: number, xOf: (rate: number) => number): string[] {
  const style = role === 'own' ? 'bold' : 'soft';
  const base = y + BAR.height - 5;
  const label = text(BAR.left - 10, base, name, style, 'end');
  if (!isMeasured(rates)) return [label, text(BAR.left + 8, base, NOT_MEASURED, 'soft')];
  const { low, middle, high } = quartilesOf(rates);
  const [from, end, to] = [low, middle, high].map(xOf) as [number, number, number];
  const centre = y + BAR.height / 2;
  return [
    label,
    `<rect class="${role}" x="${BAR.left}" y="${y}" width="${end - BAR.left}" height="${BAR.height}"/>`,
    `<path class="range" d="M${from} ${centre}H${to}M${from} ${centre - 4}v8M${to} ${centre - 4}v8"/>`,
    text(Math.max(end, to) + 8, base, (Math.round(middle / 100) * 100).toLocaleString('en'), style),
  ];
}

/** The distance between the lines of an axis that reaches at least `most`: 1, 2 or 5 times a power of ten. */
function axisStep(most: number): number {
  const least = most / STEPS;
  const power = 10 ** Math.floor(Math.log10(least));
  return power * ([1, 2, 5].find((factor) => factor * power >= least) ?? 10);
}

function text(x: number, y: number, content: string, style: string, anchor = 'start'): string {
  return `<text x="${x}" y="${y}" class="${style}" text-anchor="${anchor}">${content}</text>`;
}
