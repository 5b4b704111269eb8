import { randomInt } from 'node:crypto';
import { existsSync, rmSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { CASE_LIMIT_MS } from './case-limit.js';
import { type FuzzResult, runFuzz } from './fuzz-run.js';

const DEFAULT_SECONDS = 60;
const CONCURRENCY = 64;
/** A folder in memory, where Linux has one, since the disk is not under test. */
const MEMORY = '/dev/shm';
/** The time for a given number of cases, in milliseconds: several times what they take on two cores. */
const CASES_MS = 60_000;
const CASE_MS = 12;
/** The time for the start and for everything after the last case, in milliseconds. */
const AROUND_MS = 180_000;

/**
 * `npm run fuzz`: sends hostile requests to both protocols of the built service and prints the results. Exit code 1 when the
 * service broke a promise, or when not everything ended in time.
 *
 * `--seconds N` sets the duration, 60 by default. `--cases N` ends after that many cases, and fails if there is no time
 * for all of them: that of `--seconds`, or several times what they usually take. `--seed S` repeats the cases of that
 * seed, `--only K,L` only those with these numbers, one by one. `FUZZ_MYSQL_URL` names a MySQL server to run on, and
 * `FUZZ_NODE_OPTIONS` holds Node options for the service alone.
 */
async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      seconds: { type: 'string' },
      cases: { type: 'string' },
      seed: { type: 'string' },
      only: { type: 'string' },
    },
  });
  const seed = numberIn('--seed', values.seed) ?? randomInt(2 ** 31);
  const seconds = numberIn('--seconds', values.seconds);
  const cases = numberIn('--cases', values.cases);
  const only = values.only?.split(',').map((each) => wholeNumber('--only', each));
  print(`seed ${seed}; --seed ${seed} repeats these cases\n`);
  const begun = performance.now();
  const required = only?.length ?? cases;
  const limitMs = seconds !== undefined ? seconds * 1_000 : usualLimitMs(required, only !== undefined);
  const folder = await mkdtemp(join(existsSync(MEMORY) ? MEMORY : tmpdir(), 'rr-fuzz-'));
  // Nothing should take so long; nobody should have to wait for this process for ever.
  const limit = setTimeout(() => {
    print(`\nFAILED: the run did not end.\n`);
    rmSync(folder, { recursive: true });
    process.exit(1);
  }, limitMs + AROUND_MS);
  try {
    const result = await runFuzz({
      seed,
      numbers: only ?? upTo(cases ?? Number.POSITIVE_INFINITY),
      until: begun + limitMs,
      required,
      concurrency: only === undefined ? CONCURRENCY : 1,
      folder,
      settings: { NODE_OPTIONS: process.env['FUZZ_NODE_OPTIONS'] ?? '' },
    });
    report(result, performance.now() - begun);
  } finally {
    clearTimeout(limit);
    await rm(folder, { recursive: true });
  }
}

function usualLimitMs(cases: number | undefined, oneByOne: boolean): number {
  if (cases === undefined) return DEFAULT_SECONDS * 1_000;
  return CASES_MS + cases * (oneByOne ? CASE_LIMIT_MS : CASE_MS);
}

function numberIn(name: string, text: string | undefined): number | undefined {
  return text === undefined ? undefined : wholeNumber(name, text);
}

function wholeNumber(name: string, text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new Error(`${name} is ${JSON.stringify(text)}; it must be a whole number.`);
}

function* upTo(count: number): Generator<number> {
  for (let caseNumber = 0; caseNumber < count; caseNumber++) yield caseNumber;
}

function report({ tally, honest, memoryMib, heapMib, storedRoutes }: FuzzResult, elapsedMs: number): void {
  for (const [kind, { cases, answers }] of tally.kinds) {
    const counts = [...answers].sort(([, one], [, other]) => other - one);
    print(`${kind}: ${cases}\n    ${counts.map(([name, count]) => `${name}: ${count}`).join(', ')}\n`);
  }
  const { served, p99Ms, maxMs } = honest;
  const rate = (tally.cases / elapsedMs) * 1_000;
  print(
    `${tally.cases} cases in ${(elapsedMs / 1_000).toFixed(0)} s, ${rate.toFixed(0)} a second\n` +
      `honest caller: ${served} times served, p99 ${p99Ms.toFixed(0)} ms, longest ${maxMs.toFixed(0)} ms\n` +
      `memory: ${(memoryMib[0] ?? 0).toFixed(0)} MiB before, ${(memoryMib.at(-1) ?? 0).toFixed(0)} MiB after, at most ${Math.max(...memoryMib).toFixed(0)} MiB\n` +
      `heap without garbage: ${heapMib.map((mib) => mib.toFixed(0)).join(' ')} MiB\n` +
      `stored routes: ${storedRoutes}\n`,
  );
  for (const failure of tally.failures) print(`\n${failure}\n`);
  print(tally.failures.length === 0 ? 'no failures\n' : `\n${tally.failures.length} failures\n`);
  process.exitCode = tally.failures.length === 0 ? 0 : 1;
}

function print(text: string): void {
  process.stdout.write(text);
}

await main();
