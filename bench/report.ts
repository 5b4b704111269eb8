import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { peerChart } from './chart.js';
import { type Contender, CONTENDERS, KINDS, OWN, scenarioName } from './contenders.js';
import {
  type Figure,
  FIGURES,
  type Measured,
  NOT_MEASURED,
  ratiosOf,
  formatFigure,
  valuesOf,
} from './figures.js';
import { describeSteadiness, requireSteady } from './machine.js';
import { CALLERS } from './rounds.js';
import { rowNamed, rowOf, type Run } from './run.js';
import { costName, COSTS, growthName, hopName, HOPS, NOT_CACHED, type Protocol } from './scenarios.js';
import { table } from './table.js';

const NONE = '–';
/** The share of a core that a plan may use, so that tail latency stays low. */
const PLANNED_SHARE = 0.6;

/**
 * Writes the results of a run into the folder of documents: the generated parts of `performance.md` and `scaling.md` between
 * their markers, the chart `performance.svg`, and every sample as `performance.json`.
 *
 * @throws Error when the machine was too unsteady, a cell is not measured, or a page lacks the markers of a part
 */
export async function writeDocuments(folder: string, run: Run): Promise<void> {
  requireSteady(run.steadiness);
  const pages = {
    'performance.md': { peers: peers(run), hops: hops(run), costs: costs(run), growth: growth(run) },
    'scaling.md': { cores: cores(run) },
  };
  const unmeasured = Object.values(pages)
    .flatMap((parts) => Object.values(parts).join('\n').split('\n'))
    .filter((line) => line.includes(NOT_MEASURED));
  if (unmeasured.length > 0)
    throw new Error(`Nothing is published while a cell is ${NOT_MEASURED}:\n${unmeasured.join('\n')}`);
  for (const [name, parts] of Object.entries(pages)) {
    const page = join(folder, name);
    const text = await readFile(page, 'utf8');
    await writeFile(page, Object.entries(parts).reduce(replacePart, text));
  }
  await writeFile(join(folder, 'performance.svg'), peerChart(run));
  await writeFile(join(folder, 'performance.json'), dataOf(run));
}

/** Reads the run that `writeDocuments` wrote into the folder. */
export async function readRun(folder: string): Promise<Run> {
  const text = await readFile(join(folder, 'performance.json'), 'utf8');
  const { conditions, rows } = JSON.parse(text) as { conditions: Omit<Run, 'rows'>; rows: Run['rows'] };
  return { ...conditions, rows };
}

/** The run as JSON, with a line for each scenario and four digits of each sample. */
function dataOf({ rows, ...conditions }: Run): string {
  const short = (_: string, value: unknown): unknown =>
    typeof value === 'number' ? Number(value.toPrecision(4)) : value;
  const lines = rows.map((row) => `    ${JSON.stringify(row, short)}`);
  return `{\n  "conditions": ${JSON.stringify(conditions, short)},\n  "rows": [\n${lines.join(',\n')}\n  ]\n}\n`;
}

/** Every figure of the run, as Markdown. */
export function allFigures(run: Run): string {
  const figures = Object.keys(FIGURES) as Figure[];
  return [
    conditions(run),
    describeSteadiness(run.steadiness),
    `A figure whose distance is more than a third is "${NOT_MEASURED}".`,
    'CPU is user and system time per request: of all processes of the server, of the database, and of the load generator.',
    table(
      ['scenario', ...figures.map((figure) => FIGURES[figure])],
      run.rows.map((row) => [row.name, ...figures.map((figure) => formatFigure(valuesOf(row, figure)))]),
    ),
  ].join('\n\n');
}

/** Replaces the content between the two markers of a part. */
function replacePart(text: string, [name, part]: [string, string]): string {
  const [begin, end] = [`<!-- npm run bench -- --write: ${name} -->`, `<!-- end: ${name} -->`];
  const [before, ...rest] = text.split(begin);
  const [, after] = rest.join(begin).split(end);
  if (before === undefined || after === undefined) throw new Error(`The page has no part "${name}".`);
  return `${before}${begin}\n\n${part}\n\n${end}${after}`;
}

/** Describes where and how the figures were measured. */
function conditions({ at, machine, database, scale }: Run): string {
  const { rounds, durationMs, routes } = scale;
  const quick = scale.name === 'quick' ? ' A quick run: its figures are rough.' : '';
  return [
    `Measured on ${at.slice(0, 10)} on ${machine}; ${database}.`,
    `Medians of ${rounds} rounds of ${durationMs / 1_000} s with ${CALLERS} callers of ${routes.toLocaleString('en')} routes, on the same cores.`,
    `"±" is the distance to the ${rounds > 3 ? 'farther quartile' : 'farthest round'}; "≈" marks a figure of which that is more than a tenth.${quick}`,
  ].join(' ');
}

/** The part that compares the service with its peers. */
function peers(run: Run): string {
  const rows = (figure: Figure, contenders: readonly Contender[]): string[][] =>
    contenders
      .map((contender) => [
        contender.title,
        ...KINDS.map((kind) => cell(rowOf(run, kind, contender), figure)),
      ])
      .filter(([, ...cells]) => cells.some((content) => content !== NONE));
  const services = CONTENDERS.filter(({ role }) => role !== 'bare');
  const names = KINDS.map(({ name }) => name);
  return [
    '![Requests per second of each](performance.svg)',
    table(['requests per second', ...names], rows('rate', services)),
    table(['CPU ms of the server for each', ...names], rows('serverCpuMs', CONTENDERS)),
    conditions(run),
  ].join('\n\n');
}

/** The part that shows what each part of a separate gateway costs. */
function hops(run: Run): string {
  const [plainest] = HOPS;
  return table(
    ['', 'CPU ms for each REST get', '×'],
    HOPS.map((hop) => {
      const row = rowNamed(run, hopName(hop));
      return [hop.title, cell(row, 'serverCpuMs'), ratioTo(rowNamed(run, hopName(plainest)), row)];
    }),
  );
}

/** The part that shows what each choice of an operator costs. */
function costs(run: Run): string {
  const [usual, ...changes] = COSTS;
  const cells = (protocol: Protocol, cost: (typeof COSTS)[number]): string[] => {
    const row = rowNamed(run, costName(protocol, cost));
    return [cell(row, 'serverCpuMs'), ratioTo(rowNamed(run, costName(protocol, usual)), row)];
  };
  return table(
    ['', 'gRPC get, CPU ms', '×', 'REST get, CPU ms', '×'],
    [usual, ...changes].map((cost) => [cost.title, ...cells('gRPC', cost), ...cells('REST', cost)]),
  );
}

/** The part that shows how the figures change with stored routes. */
function growth(run: Run): string {
  const figures = ['rate', 'serverCpuMs', 'databaseCpuMs'] as const;
  const operations = ['get', 'create'] as const;
  return table(
    [
      'stored routes, none cached',
      ...operations.flatMap((operation) => [`gRPC ${operation}s per second`, 'CPU ms', "database's CPU ms"]),
    ],
    run.scale.growth.map((stored) => [
      stored.toLocaleString('en'),
      ...operations.flatMap((operation) =>
        figures.map((figure) => cell(rowNamed(run, growthName(operation, stored)), figure)),
      ),
    ]),
  );
}

/** The part of `scaling.md` that says what a core carries. */
function cores(run: Run): string {
  const perCore = (row: Measured | undefined, figure: Figure): string =>
    formatFigure(valuesOf(row, figure).map((ms) => (PLANNED_SHARE * 1_000) / ms));
  const requests = KINDS.flatMap((kind): [title: string, name: string][] => {
    const warm = scenarioName(kind, OWN);
    if (kind.operation === 'create') return [[kind.name, warm]];
    const protocol = kind.wire === 'grpc' ? 'gRPC' : 'REST';
    return [
      [`${kind.name}, cached`, warm],
      [`${kind.name}, for the first time`, costName(protocol, NOT_CACHED)],
    ];
  });
  return table(
    ['request', 'server CPU ms', 'per second and core', 'database CPU ms', 'per second and database core'],
    requests.map(([title, name]) => {
      const row = rowNamed(run, name);
      const database = title.endsWith(', cached')
        ? ['', '']
        : [formatFigure(valuesOf(row, 'databaseCpuMs')), perCore(row, 'databaseCpuMs')];
      return [title, formatFigure(valuesOf(row, 'serverCpuMs')), perCore(row, 'serverCpuMs'), ...database];
    }),
  );
}

/** The ratio of a row's CPU time to that of another in the same round; empty for the other itself. */
function ratioTo(base: Measured | undefined, row: Measured | undefined): string {
  return row && base && row !== base ? formatFigure(ratiosOf('serverCpuMs', row, base)) : '';
}

function cell(row: Measured | undefined, figure: Figure): string {
  return formatFigure(valuesOf(row, figure)) || NONE;
}
