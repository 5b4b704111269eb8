import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { rssMib } from '../../bench/process-usage.js';
import { tokenFor } from '../support/service.js';
import { Callers, summary } from './rig/callers.js';
import { figure } from './rig/figures.js';
import { peakMib, startProgram } from './rig/load-process.js';
import { scale } from './rig/scale.js';
import { startProcess } from './rig/service-process.js';

const WARM_UP_MS = 300;
/** How long the honest client is measured without an attack, in milliseconds, to learn how slow the machine is. */
const ALONE_MS = 1_200;
/** The limit for 99 of 100 honest calls, in milliseconds; on a slow machine, a multiple of their time alone. */
const HONEST_MS = 1_000;
const HONEST_TIMES = 20;
/** Far more than the refusals of a few seconds may log. */
const LOG_KIB = 1_024;
/** Room for messages within the limit on all streams that the attackers may open, with the overhead of Node. */
const GROWTH_MIB = 150;

interface Done {
  /** Connections that the service closed, and its responses of any kind. */
  readonly closed: number;
  readonly answered: number;
}

/** Attacks the service from another process, and checks the honest client, the memory and the log. */
async function runAttack(
  settings: Readonly<Record<string, string>>,
  name: string,
  durationMs: number,
): Promise<Done> {
  const service = await startProcess({ DATABASE_URL: 'sqlite::memory:', ...settings });
  const honest = (): Callers => new Callers({ ...service, each: 1, pauseMs: 20 });
  const alone = honest();
  await sleep(ALONE_MS);
  const { p99Ms: aloneMs } = summary(await alone.stop());
  const callers = honest();
  await sleep(WARM_UP_MS);
  const before = rssMib(service.pid);
  const logged = service.program.stdout.length;
  const http = new URL(service.http).host;
  const child = startProgram('attack', { name, grpc: service.grpc, http, token: tokenFor(), durationMs });
  const { result, mib } = await peakMib(service.pid, child.message('done') as Promise<Done>);
  const { good, bad, p99Ms } = summary(await callers.stop());
  const measured = {
    'honest good': good,
    'honest bad': JSON.stringify(bad),
    'honest p99 ms': p99Ms,
    'alone p99 ms': aloneMs,
    'RSS MiB': before,
    'RSS grown MiB': mib - before,
    'log KiB': (service.program.stdout.length - logged) / 1024,
    closed: result.closed,
    answered: result.answered,
  };
  figure([name, ...Object.entries(settings).map((setting) => setting.join('='))].join(', '), measured);
  const says = JSON.stringify(measured);
  expect.soft(bad, says).toEqual({});
  expect.soft(good, says).toBeGreaterThan(0);
  expect.soft(p99Ms, says).toBeLessThan(Math.max(HONEST_MS, HONEST_TIMES * aloneMs));
  expect.soft(measured['RSS grown MiB'], says).toBeLessThan(GROWTH_MIB);
  expect.soft(measured['log KiB'], says).toBeLessThan(LOG_KIB);
  return result;
}

describe('an honest client is served, and memory and log stay bounded, during', () => {
  it.each([
    'watches of ever-changing 60 KiB names',
    'half-sent messages of 3 MB',
    'REST heads byte by byte',
    'rapid resets',
    'more streams than allowed',
  ])('%s', async (name) => {
    await runAttack({}, name, scale.loadMs);
  });
});

it('silent connections are closed after the idle time', async () => {
  const settings = { GRPC_IDLE_MS: '1000', HTTP_IDLE_MS: '1000' };
  const { closed } = await runAttack(settings, 'silent connections', 5_000);
  expect(closed, 'of 2,000 silent connections').toBeGreaterThanOrEqual(1_000);
});

it('bodies sent byte by byte are answered within the deadline, unauthenticated ones before they are read', async () => {
  const { answered } = await runAttack({ DEADLINE_MS: '1000' }, 'REST bodies byte by byte', 3_000);
  expect(answered, 'of 400 requests').toBe(400);
});

it('headers that HPACK expands to 350 KB, over ten connections, take less than 400 MB', async () => {
  const service = await startProcess({ DATABASE_URL: 'sqlite::memory:' });
  const name = 'headers that HPACK expands to 350 KB, over ten connections';
  const attack = { name, grpc: service.grpc, http: '', token: '', durationMs: 3_000 };
  const child = startProgram('attack', attack);
  const { mib } = await peakMib(service.pid, child.message('done'));
  figure(name, { 'RSS MiB': mib });
  expect(mib).toBeLessThan(400e6 / 1024 ** 2);
});
