import { execFile } from 'node:child_process';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { inject, onTestFinished } from 'vitest';
import { stringify } from 'yaml';
import { unpackPackage } from './apt.js';
import { freePort } from './free-port.js';
import { findProgram } from './installed-program.js';
import { watch } from './mysql-watchdog.js';

const run = promisify(execFile);
/** The package would start a service where it is installed. */
const UNPACKED = resolve(import.meta.dirname, '../../node_modules/.cache/debian/prometheus');
const START_MS = 30_000;
const POLL_MS = 100;

/** A sample of an instant vector: its labels, and its value as text. */
export interface Sample {
  readonly metric: Readonly<Record<string, string>>;
  readonly value: readonly [time: number, value: string];
}

/** A Prometheus that scrapes. */
export interface Prometheus {
  /** @throws Error with the reason when the query cannot be evaluated */
  query(expression: string): Promise<readonly Sample[]>;
}

/** `prometheus` or `promtool`: on the PATH, or unpacked from the package of Debian or Ubuntu. */
async function program(name: string): Promise<string> {
  const found = await findProgram(name);
  if (found !== undefined) return found;
  try {
    await unpackPackage('prometheus', UNPACKED, 'the tests of alerts need it, and none is on the PATH');
  } catch (cause) {
    throw new Error(`The tests of alerts need ${name} of Prometheus 2.42 or later: put it on the PATH.`, {
      cause,
    });
  }
  return join(UNPACKED, 'usr/bin', name);
}

/** Runs promtool and returns what it said. @throws Error with that, when it fails */
export async function promtool(...args: readonly string[]): Promise<string> {
  const { stdout, stderr } = await run(await program('promtool'), args);
  return stdout + stderr;
}

/** Starts a Prometheus with a configuration, on a free port, until the test has ended. */
export async function startPrometheus(configuration: object): Promise<Prometheus> {
  const folder = await mkdtemp(join(inject('temporaryFolder'), 'prometheus-'));
  const file = join(folder, 'prometheus.yml');
  await writeFile(file, stringify(configuration));
  const port = await freePort();
  const watchdog = watch({
    commands: [
      [
        await program('prometheus'),
        `--config.file=${file}`,
        `--storage.tsdb.path=${join(folder, 'data')}`,
        `--web.listen-address=127.0.0.1:${port}`,
        '--log.level=warn',
      ],
    ],
    afterwards: [],
  });
  onTestFinished(() => watchdog.stop());
  const base = `http://127.0.0.1:${port}`;
  const deadline = Date.now() + START_MS;
  while (!(await answers(`${base}/-/ready`))) {
    if (Date.now() < deadline) await sleep(POLL_MS);
    else {
      await watchdog.stop();
      throw new Error(`Prometheus is not ready: ${await watchdog.ended}`);
    }
  }
  return { query: (expression) => query(base, expression) };
}

async function answers(url: string): Promise<boolean> {
  return fetch(url).then(
    ({ ok }) => ok,
    () => false,
  );
}

interface QueryAnswer {
  readonly status: string;
  readonly error?: string;
  readonly data: { readonly resultType: string; readonly result: readonly Sample[] };
}

async function query(base: string, expression: string): Promise<readonly Sample[]> {
  const response = await fetch(`${base}/api/v1/query?query=${encodeURIComponent(expression)}`);
  const { status, error, data } = (await response.json()) as QueryAnswer;
  if (status !== 'success') throw new Error(`${expression}: ${error ?? response.status}`);
  if (data.resultType !== 'vector') throw new Error(`${expression} is no vector, but ${data.resultType}`);
  return data.result;
}
