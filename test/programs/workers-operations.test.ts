import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { Program } from '../support/process.js';
import { SERVICE_SETTINGS, tokenFor } from '../support/service.js';

/** Requests made at once; which workers get them is up to chance. */
const REQUESTS = 8;
const NOT_FOUND = '/v1/routing/01a1f941-715b-7593-b057-19259d7b5bfc';
/** Until something has happened, also where other tests run, in milliseconds. */
const PATIENCE = { timeout: 60_000 };

vi.setConfig({ testTimeout: 2 * PATIENCE.timeout });

let folder: string;
let service: Program;
let http: string;
let ops: string;

async function start(settings: Record<string, string> = {}): Promise<void> {
  service = new Program('main', [], folder, { ...SERVICE_SETTINGS, WORKERS: '2', ...settings });
  ({ http, ops } = (await service.line('listening')) as unknown as { http: string; ops: string });
}

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'route-registry-'));
});

afterEach(async () => {
  await service.stop('SIGKILL');
  rmSync(folder, { recursive: true });
});

/** Sends requests, each over a connection of its own, until each worker has had one. Resolves with their number. */
async function request(): Promise<number> {
  const headers = { authorization: `Bearer ${tokenFor()}`, connection: 'close' };
  const before = service.lines().length;
  const statuses: number[] = [];
  const called = async (): Promise<Set<unknown>> => {
    const requests = Array.from({ length: REQUESTS }, () => fetch(http + NOT_FOUND, { headers }));
    statuses.push(...(await Promise.all(requests)).map(({ status }) => status));
    const lines = service.lines().slice(before);
    return new Set(lines.filter(({ requestId }) => requestId !== undefined).map(({ worker }) => worker));
  };
  await expect.poll(called, PATIENCE).toEqual(new Set([1, 2]));
  expect(new Set(statuses)).toEqual(new Set([404]));
  return statuses.length;
}

async function metrics(): Promise<string> {
  return (await fetch(`${ops}/metrics`)).text();
}

/** The REST requests that each worker has counted, by its number. */
async function counted(): Promise<number[]> {
  const counts = [0, 0];
  const line = /^http_server_request_duration_seconds_count\{.*worker="(\d+)".*\} (\d+)$/gm;
  for (const [, worker, count] of (await metrics()).matchAll(line))
    counts[Number(worker) - 1] = Number(counts[Number(worker) - 1]) + Number(count);
  return counts;
}

function sum(counts: readonly number[]): number {
  return counts.reduce((all, count) => all + count, 0);
}

async function page(path: string): Promise<unknown> {
  const response = await fetch(ops + path);
  return { code: response.status, ...((await response.json()) as object) };
}

/** The processes that have served as a worker, oldest first. */
function pidsOf(number: number): number[] {
  const serving = service.lines().filter(({ msg, worker }) => msg === 'a worker serves' && worker === number);
  return serving.map(({ workerPid }) => Number(workerPid));
}

/** Sends a signal to the latest process of a worker. */
function signal(number: number, name: NodeJS.Signals): void {
  process.kill(Number(pidsOf(number).at(-1)), name);
}

it('the sums of each worker go on when its process is replaced or killed, and never fall', async () => {
  await start();
  const first = await request();
  // It hands over what it has counted, which nobody has asked for before.
  signal(1, 'SIGTERM');
  await service.line('stopped');
  await expect.poll(async () => sum(await counted()), PATIENCE).toBe(first);
  const before = await counted();
  expect(before.every((count) => count > 0)).toBe(true);

  const seen = [before];
  const done = new AbortController();
  const looks = (async () => {
    while (!done.signal.aborted) seen.push(await counted());
  })();
  signal(2, 'SIGKILL');
  await service.line('a worker has ended unexpectedly');
  await expect.poll(() => pidsOf(2), PATIENCE).toHaveLength(2);
  const second = await request();
  await expect.poll(async () => sum(await counted()), PATIENCE).toBe(first + second);
  done.abort();
  await looks;
  for (const [i, counts] of seen.slice(1).entries())
    expect(counts.filter((count, worker) => count < Number(seen[i]?.[worker]))).toEqual([]);
  expect(seen.at(-1)?.map((count, worker) => count > Number(before[worker]))).toEqual([true, true]);
  expect(await metrics()).toMatch(/^process_resident_memory_bytes\{worker="2"\} \d+$/m);
});

it('readiness and liveness are those of all workers, until the last one has stopped', async () => {
  await start({ DRAIN_DELAY_MS: '4000' });
  const up = { 'worker 1: database': { ok: true }, 'worker 2: database': { ok: true } };
  await expect(page('/readyz')).resolves.toMatchObject({ code: 200, status: 'ready', checks: up });
  signal(2, 'SIGSTOP');
  const silent = { ok: false, state: 'no answer' };
  await expect(page('/readyz')).resolves.toMatchObject({
    code: 200,
    checks: { 'worker 2: process': silent },
  });
  await expect(page('/livez')).resolves.toEqual({ code: 200, status: 'alive' });
  signal(1, 'SIGSTOP');
  await expect(page('/readyz')).resolves.toMatchObject({ code: 503, status: 'not ready' });
  await expect(page('/livez')).resolves.toEqual({ code: 503, status: 'hanging' });
  signal(1, 'SIGCONT');
  signal(2, 'SIGCONT');
  await expect.poll(() => page('/readyz'), PATIENCE).toMatchObject({ code: 200, checks: up });

  const ended = service.stop();
  await service.line('not serving');
  await expect(page('/readyz')).resolves.toMatchObject({ code: 503, status: 'draining' });
  const sent = await request();
  expect(sum(await counted())).toBe(sent);
  await expect(ended).resolves.toMatchObject({ exitCode: 0 });
  expect(service.lines().at(-1)).toMatchObject({ msg: 'stopped' });
});
