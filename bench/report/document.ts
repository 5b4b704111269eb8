import { readFile, writeFile } from 'node:fs/promises';
import { cpus, totalmem } from 'node:os';
import { dirname, join } from 'node:path';
import type { Anatomy } from '../anatomy.js';
import type { Measured } from '../figures.js';
import type { Curve } from '../offered-load.js';
import type { Scale } from '../scale.js';
import { plotOfferedLoad } from './plot.js';
import { figureTable, table } from './table.js';

const BEGIN = '<!-- Written by `npm run bench -- --write`: what follows is not edited by hand. -->';
const END = '<!-- End of what the benchmark wrote. -->';
const PLOT = 'performance.svg';
/** A part that takes less than this share of a request is not shown. */
const LEAST_SHARE = 0.02;
const GIB = 1024 ** 3;

/** Everything that one run of the benchmark found. */
export interface Run {
  /** When it began, RFC 3339. */
  readonly at: string;
  /** The machine and its software. */
  readonly machine: string;
  readonly database: string;
  readonly scale: Scale;
  readonly rows: readonly Measured[];
  readonly curves: readonly Curve[];
  readonly anatomies: readonly Anatomy[];
}

/** This machine in a line. */
export function describeMachine(): string {
  const [first] = cpus();
  const memory = `${Math.round(totalmem() / GIB)} GiB`;
  return `${cpus().length} × ${first?.model ?? 'unknown processor'}, ${memory}, ${process.platform}, Node ${process.version}`;
}

/**
 * Writes the results of the run into the document, between its two marks, and the plot beside it.
 *
 * @throws Error when the document has no marks
 */
export async function writeDocument(file: string, run: Run): Promise<void> {
  await writeFile(join(dirname(file), PLOT), plotOfferedLoad(run.curves));
  const written = await readFile(file, 'utf8');
  const begin = written.indexOf(BEGIN);
  const end = written.indexOf(END);
  if (begin === -1 || end < begin) throw new Error(`${file} has lost the marks of what is written into it.`);
  await writeFile(file, `${written.slice(0, begin)}${BEGIN}\n\n${sections(run)}\n\n${written.slice(end)}`);
}

function sections(run: Run): string {
  const { rounds, durationMs, routes } = run.scale;
  return [
    '## Figures',
    `Measured at ${run.at} on ${run.machine}; ${run.database}. ${rounds} rounds of ${durationMs / 1_000} s, medians; "±" is half the distance of the extremes. 32 callers, ${routes.toLocaleString('en')} routes asked for, load generator on the same cores. CPU is user and system time for each request of all processes of the server, and of the database.`,
    figureTable(run.rows),
    '## Throughput and latency against offered load',
    `![Answered requests and 99th percentile of the latency against offered load](${PLOT})`,
    'Open loop: a request is due by the clock, and its latency counts from then.',
    '## Anatomy of a request',
    "Microseconds of the service's CPU time for each request, divided among the parts by V8's sampling profiler, which takes some of them itself.",
    ...run.anatomies.map(anatomyTable),
  ].join('\n\n');
}

/** One kind of request, part by part. */
export function anatomyTable({ name, parts }: Anatomy): string {
  const total = parts.reduce((sum, [, microseconds]) => sum + microseconds, 0);
  const shown = parts.filter(([, microseconds]) => microseconds / total >= LEAST_SHARE);
  const rest = total - shown.reduce((sum, [, microseconds]) => sum + microseconds, 0);
  return table(
    [name, 'µs'],
    [...shown, ['the rest', rest] as const, ['together', total] as const].map(([part, microseconds]) => [
      part,
      microseconds.toFixed(1),
    ]),
  );
}
