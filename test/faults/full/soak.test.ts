import { readdirSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { needs } from '../../support/needs.js';
import { median } from '../../../bench/load/percentile.js';
import { rssMib } from '../../../bench/process-usage.js';
import { Callers, summary } from '../rig/callers.js';
import { figure } from '../rig/figures.js';
import { MixedLoad } from '../rig/mixed-load.js';
import { scale } from '../rig/scale.js';
import { startOnMysql } from '../rig/service-process.js';

const SAMPLES = 60;
/** The share of the time in which caches and pools fill and code is compiled. */
const WARM_UP = 0.3;
/** The time until the service has released closed connections, in milliseconds. */
const SETTLE_MS = 2_000;
/** The database connections that the pool opens under the first load and keeps. */
const POOL = 12;

function openFiles(pid: number): number {
  return readdirSync(`/proc/${pid}/fd`).length;
}

/** The medians of the first third and the last third of the values. */
function thirds(values: readonly number[]): { first: number; last: number } {
  const size = Math.floor(values.length / 3);
  return { first: median(values.slice(0, size)), last: median(values.slice(-size)) };
}

it(
  'memory, handles and connections stay flat under a mixed load',
  { ...needs('server'), timeout: scale.soakMs + 60_000 },
  async () => {
    // Small enough to be full when the measurement begins.
    const service = await startOnMysql({ ROUTE_CACHE_MIB: '4' });
    const idleFiles = openFiles(service.pid);
    const callers = new Callers({ ...service, each: 4 });
    const mixed = new MixedLoad(service);
    await sleep(WARM_UP * scale.soakMs);
    const memory: number[] = [];
    const files: number[] = [];
    for (let i = 0; i < SAMPLES; i++) {
      await sleep(((1 - WARM_UP) * scale.soakMs) / SAMPLES);
      memory.push(rssMib(service.pid));
      files.push(openFiles(service.pid));
    }
    const counts = await mixed.stop();
    const { good, bad } = summary(await callers.stop());
    await sleep(SETTLE_MS);
    const mib = thirds(memory);
    const handles = thirds(files);
    const measured = {
      seconds: scale.soakMs / 1_000,
      'creates good': good,
      bad: JSON.stringify(bad),
      mixed: JSON.stringify(counts),
      'RSS MiB, first third': mib.first,
      'RSS MiB, last third': mib.last,
      'files, first third': handles.first,
      'files, last third': handles.last,
      'files before and after': `${idleFiles} and ${openFiles(service.pid)}`,
    };
    figure('soak', measured);
    const says = JSON.stringify(measured);
    expect.soft(bad, says).toEqual({});
    expect.soft(mib.last, says).toBeLessThan(1.15 * mib.first + 10);
    expect.soft(handles.last, says).toBeLessThan(handles.first + 20);
    expect.soft(openFiles(service.pid), says).toBeLessThanOrEqual(idleFiles + POOL);
  },
);
