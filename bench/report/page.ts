import { CONTENDERS, KINDS, LOGGING, scenarioName } from '../contenders.js';
import { ratioOf } from '../ratio.js';
import { atRate, costName, COSTS, growthName, OPEN_RATE, TIMED } from '../scenarios.js';
import { START_UP } from '../start-up.js';
import { conditions } from './data.js';
import { figureOf, type Run } from './run.js';
import { number, rounded, table } from './table.js';

const NOT_MEASURED = '–';

/** The generated parts of `performance.md`, by name. */
export function pageParts(run: Run): Readonly<Record<string, string>> {
  return {
    peers: [
      `![Requests per second of each](performance.svg)`,
      peerTable(run),
      logLines(run),
      conditions(run),
    ].join('\n\n'),
    costs: costTable(run),
    growth: [growthTable(run), latencyTable(run), startUp(run)].join('\n\n'),
  };
}

function peerTable(run: Run): string {
  const rows = CONTENDERS.map((contender) => [
    contender.title,
    ...KINDS.map((kind) => rateAndCost(run, scenarioName(kind, contender))),
  ]).filter(([, ...cells]) => cells.some((cell) => cell !== NOT_MEASURED));
  return table(['requests per second (CPU ms each)', ...KINDS.map(({ name }) => name)], rows);
}

function rateAndCost(run: Run, name: string): string {
  const rate = figureOf(run, name, 'rate');
  const cost = figureOf(run, name, 'serverCpuMs');
  return rate === undefined ? NOT_MEASURED : `${rounded(rate)} (${number(cost, 3)})`;
}

function logLines(run: Run): string {
  const each = KINDS.map((kind) => `${kind.name} ${rateAndCost(run, scenarioName(kind, LOGGING))}`);
  return `The others write no log, so Route Registry writes none here either. With one log line per request, as \`npm start\` runs it: ${each.join(', ')}.`;
}

function costTable(run: Run): string {
  const [usual, ...changes] = COSTS;
  const cell = (protocol: 'gRPC' | 'REST', cost: (typeof COSTS)[number]): string[] => {
    const named = (name: string): Run['rows'] => run.rows.filter((row) => row.name === name);
    const [one] = named(costName(protocol, cost));
    const [base] = named(costName(protocol, usual));
    const ratio = one && base && cost !== usual ? ratioOf('serverCpuMs', one, base) : undefined;
    return [
      number(figureOf(run, costName(protocol, cost), 'serverCpuMs'), 3),
      ratio === undefined ? '' : number(ratio.middle, 2),
    ];
  };
  return table(
    ['', 'gRPC get, CPU ms', '×', 'REST get, CPU ms', '×'],
    [usual, ...changes].map((cost) => [cost.title, ...cell('gRPC', cost), ...cell('REST', cost)]),
  );
}

function growthTable(run: Run): string {
  const cells = (operation: 'get' | 'create', stored: number): string[] => {
    const name = growthName(operation, stored);
    return [
      rounded(figureOf(run, name, 'rate') ?? Number.NaN),
      number(figureOf(run, name, 'serverCpuMs'), 3),
      number(figureOf(run, name, 'databaseCpuMs'), 3),
    ];
  };
  const columns = (operation: string): string[] => [
    `gRPC ${operation}s per second`,
    'CPU ms',
    "database's CPU ms",
  ];
  return table(
    ['stored routes, none cached', ...columns('get'), ...columns('create')],
    run.scale.growth.map((stored) => [
      stored.toLocaleString('en'),
      ...cells('get', stored),
      ...cells('create', stored),
    ]),
  );
}

function latencyTable(run: Run): string {
  const cells = (name: string): string[] =>
    (['p50Ms', 'p99Ms'] as const).map((figure) => number(figureOf(run, name, figure), 2));
  return table(
    [
      'latency',
      `p50 ms at ${OPEN_RATE} per second`,
      'p99 ms',
      'p50 ms at half of its highest rate',
      'p99 ms',
    ],
    TIMED.map((name) => [name, ...cells(atRate(name, 'slow')), ...cells(atRate(name, 'half'))]),
  );
}

function startUp(run: Run): string {
  return `On a new embedded database, the first response comes ${rounded(figureOf(run, START_UP, 'p50Ms') ?? Number.NaN)} ms after the process starts.`;
}
