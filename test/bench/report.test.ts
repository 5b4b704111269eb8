import { cp, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Sample } from '../../bench/figures.js';
import { type Run, writeDocuments } from '../../bench/report.js';
import { QUICK } from '../../bench/scale.js';
import { scenarios } from '../../bench/scenarios.js';
import type { TargetName } from '../../bench/testbed.js';

const OWN: readonly TargetName[] = ['service', 'gateway', 'alone', 'unmetered', 'unlogged', 'traced', 'cold'];
const OTHERS: readonly TargetName[] = ['go', 'go with a cache', 'fastify', 'tutorial', 'tutorial gateway'];
const BARE: readonly TargetName[] = ['echo', 'node:http', 'express', 'hop'];
const ALL = new Set<TargetName>([
  ...OWN,
  ...OTHERS,
  ...BARE,
  ...QUICK.growth.map((n) => `stored${n}` as const),
]);
const SAMPLE = { serverCpuMs: 0.1, databaseCpuMs: 0.05, loadCpuMs: 0.03, p50Ms: 3, p99Ms: 9, rssMib: 200 };

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rr-report-'));
  await cp(resolve(import.meta.dirname, '../../docs'), folder, { recursive: true });
});
afterEach(() => rm(folder, { recursive: true }));

/** A run in which each scenario has these requests per second, and those that are not named, 1,000. */
function runWith(rates: Readonly<Record<string, readonly number[]>>, loopsMs = [100, 101, 102]): Run {
  const rows = scenarios(QUICK, ALL)
    .flat()
    .map(({ name }) => ({
      name,
      samples: (rates[name] ?? [1_000, 1_000, 1_000]).map((rate): Sample => ({ ...SAMPLE, rate })),
    }));
  const steadiness = { loopsMs, stolen: 0 };
  return { at: 'now', machine: 'a machine', steadiness, database: 'a database', scale: QUICK, rows };
}

async function written(run: Run): Promise<Readonly<Record<'performance' | 'data' | 'scaling', string>>> {
  await writeDocuments(folder, run);
  const read = (name: string): Promise<string> => readFile(join(folder, name), 'utf8');
  return {
    performance: await read('performance.md'),
    data: await read('performance-data.md'),
    scaling: await read('scaling.md'),
  };
}

it('the pages have a place for every part of a run, and every scenario has a row of its own in the data', async () => {
  const run = runWith({ 'gRPC get: Go': [7_791, 7_100, 8_603] });
  const { performance, data, scaling } = await written(run);
  expect(performance).toContain('7,800 ± 800');
  expect(scaling).toContain('6,000 ± 0');
  for (const { name } of run.rows) expect(data.split(`| ${name} `), name).toHaveLength(2);
});

it('a peer counts as ahead or behind only beyond the spread', async () => {
  const { performance } = await written(
    runWith({
      'gRPC get: Route Registry': [7_000, 8_000, 9_000],
      'gRPC get: Go': [8_500, 9_500, 9_900],
      'gRPC get: Go, with a cache': [20_000, 21_000, 22_000],
      'gRPC get: Tutorial': [2_000, 2_500, 3_000],
    }),
  );
  expect(performance).toContain('than Route Registry in one process: gRPC get: Go, with a cache. Peers');
  expect(performance).toContain('by no more than the spread: gRPC get: Go; ');
});

it.each([
  ['steady', [100, 110, 119], '1.19', 'The machine was steady'],
  ['disturbed', [100, 110, 147], '1.47', '**The machine was disturbed**, which the spreads include'],
])('the page says that a machine was %s, and how much', async (_how, loopsMs, slowest, verdict) => {
  const { performance } = await written(runWith({}, loopsMs));
  expect(performance).toContain(
    `${verdict}: before each round, a fixed loop took ${loopsMs[1]} ms in the median, at its slowest ${slowest} times as long`,
  );
});
