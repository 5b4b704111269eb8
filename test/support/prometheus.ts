import { execFile } from 'node:child_process';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { inject, onTestFinished } from 'vitest';
import { stringify } from 'yaml';
import { freePort } from './free-port.js';
import { watch } from './mysql-watchdog.js';
import { programPath } from './needs.js';

const run = promisify(execFile);
const START_MS = 30_000;
const POLL_MS = 100;

/** A sample of an instant vector: its labels, and its value as a string. */
export interface Sample {
  readonly metric: Readonly<Record<string, string>>;
  readonly value: readonly [time: number, value: string];
}

/** A running Prometheus server. */
export interface Prometheus {
  /** @throws Error with the reason if the query cannot be evaluated */
  query(expression: string): Promise<readonly Sample[]>;
}

/** Runs promtool and returns its output. @throws Error with the output, if it fails */
export async function promtool(...args: readonly string[]): Promise<string> {
  const { stdout, stderr } = await run(programPath('promtool'), args);
  return stdout + stderr;
}

/** Starts Prometheus with this configuration on a free port. It is stopped when the test ends. */
export async function startPrometheus(configuration: object): Promise<Prometheus> {
  const folder = await mkdtemp(join(inject('temporaryFolder'), 'prometheus-'));
  const file = join(folder, 'prometheus.yml');
  await writeFile(file, stringify(configuration));
  const port = await freePort();
  const watchdog = watch({
    commands: [
      [
        programPath('prometheus'),
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
