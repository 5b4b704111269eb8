import { randomInt } from 'node:crypto';
import { existsSync, rmSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { CASE_LIMIT_MS, type FuzzResult, runFuzz } from './fuzz-run.js';

const DEFAULT_SECONDS = 60;
const CONCURRENCY = 64;
/** An in-memory folder, on Linux: the disk is not under test. */
const MEMORY = '/dev/shm';
/** The time limit for a given number of cases, in milliseconds: several times what they take on two cores. */
const CASES_MS = 60_000;
const CASE_MS = 12;
/** The time limit for the start and for everything after the last case, in milliseconds. */
const AROUND_MS = 180_000;

/**
 * `npm run fuzz`: sends hostile requests to the built service over both protocols and prints the results. The exit code
 * is 1 when the service violates its contract, or when the run does not finish in time.
 *
 * `--seconds N` sets the duration; default: 60. `--cases N` stops after that many cases. The run fails if they take
 * longer than `--seconds` or, without that option, several times their usual duration. `--seed S` repeats the cases of
 * a seed; `--only K,L` runs only the cases with these numbers, one at a time. `FUZZ_NODE_OPTIONS` sets Node options for
 * the service only.
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
  // A last resort, so that a run that hangs still ends.
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

function report({ tally, heapMib }: FuzzResult, elapsedMs: number): void {
  const counts = [...tally.answers].sort(([, one], [, other]) => other - one);
  const rate = (tally.cases / elapsedMs) * 1_000;
  print(
    `${counts.map(([name, count]) => `${name}: ${count}`).join(', ')}\n` +
      `${tally.cases} cases in ${(elapsedMs / 1_000).toFixed(0)} s, ${rate.toFixed(0)} per second\n` +
      `heap without calls: ${heapMib.map((mib) => mib.toFixed(0)).join(' MiB before, ')} MiB after\n`,
  );
  for (const failure of tally.failures) print(`\n${failure}\n`);
  print(tally.failures.length === 0 ? 'no failures\n' : `\n${tally.failures.length} failures\n`);
  process.exitCode = tally.failures.length === 0 ? 0 : 1;
}

function print(text: string): void {
  process.stdout.write(text);
}

await main();
