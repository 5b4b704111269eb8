import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { rssMib } from '../../bench/process-usage.js';
import { tokenFor } from '../support/service.js';
import { Callers, summary } from './rig/callers.js';
import { figure } from './rig/figures.js';
import { peakMib, startProgram } from './rig/load-process.js';
import { scale } from './rig/scale.js';
import { type ServiceProcess, startProcess } from './rig/service-process.js';

const WARM_UP_MS = 300;
const MIB = 1024 * 1024;
/** Messages within their limit, on as many streams as these attackers may have, with what Node needs around them. */
const GROWTH_MIB = 150;

interface Done {
  /** Connections that the service closed, and answers that it gave, in whatever words. */
  readonly closed: number;
  readonly answered: number;
}

/** Lets another process attack the service while an honest client uses it. */
async function attacked(service: ServiceProcess, name: string, durationMs = scale.loadMs) {
  const callers = new Callers({ ...service, each: 1, pauseMs: 20 });
  await sleep(WARM_UP_MS);
  const before = rssMib(service.pid);
  const logged = service.program.stdout.length;
  const http = new URL(service.http).host;
  const child = startProgram('attack', { name, grpc: service.grpc, http, token: tokenFor(), durationMs });
  const { result, mib } = await peakMib(service.pid, child.message('done') as Promise<Done>);
  const honest = summary(await callers.stop());
  const measured = {
    'honest good': honest.good,
    'honest bad': JSON.stringify(honest.bad),
    'honest p99 ms': honest.p99Ms,
    'RSS MiB before': before,
    'RSS MiB at most': mib,
    'log KiB': (service.program.stdout.length - logged) / 1024,
    closed: result.closed,
    answered: result.answered,
  };
  figure(name, measured);
  return {
    honest,
    before,
    mib,
    logBytes: service.program.stdout.length - logged,
    ...result,
    says: JSON.stringify(measured),
  };
}

describe('an honest client is served, and memory and log stay bounded, beside', () => {
  it.each([
    'watches of 4 MiB names in 4 KB',
    'watches of ever new 60 KiB names',
    'half-sent messages of 3 MB',
    'gzip messages that inflate to 4 MB',
    'reflection requests whose answers nobody reads',
    'paths of 8 KiB, for the log',
    'silent connections',
    'REST bodies byte by byte',
    'REST heads byte by byte',
    'rapid resets',
    'more streams than are allowed',
  ])('%s', async (name) => {
    const service = await startProcess({ DATABASE_URL: 'sqlite::memory:' });
    const { honest, before, mib, logBytes, says } = await attacked(service, name);
    expect.soft(honest.bad, says).toEqual({});
    expect.soft(honest.good, says).toBeGreaterThan(0);
    expect.soft(honest.p99Ms, says).toBeLessThan(1_000);
    expect.soft(mib - before, says).toBeLessThan(GROWTH_MIB);
    expect.soft(logBytes, says).toBeLessThan(MIB);
  });
});

it('silent connections are closed after the idle time', async () => {
  const settings = { DATABASE_URL: 'sqlite::memory:', GRPC_IDLE_MS: '1000', HTTP_IDLE_MS: '1000' };
  const service = await startProcess(settings);
  const { closed, honest, says } = await attacked(service, 'silent connections', 5_000);
  expect.soft(honest.bad, says).toEqual({});
  expect(closed, says).toBeGreaterThanOrEqual(1_000);
});

it('connections beyond MAX_CONNECTIONS are closed at once, and those before them served', async () => {
  const service = await startProcess({ DATABASE_URL: 'sqlite::memory:', MAX_CONNECTIONS: '200' });
  const { closed, honest, says } = await attacked(service, 'silent connections');
  expect.soft(honest.bad, says).toEqual({});
  expect(closed, says).toBeGreaterThanOrEqual(1_600);
  expect(closed, says).toBeLessThan(2_000);
});

it('bodies that come byte by byte are answered within the deadline, and strangers before they are read', async () => {
  const service = await startProcess({ DATABASE_URL: 'sqlite::memory:', DEADLINE_MS: '1000' });
  const { answered, honest, says } = await attacked(service, 'REST bodies byte by byte', 3_000);
  expect.soft(honest.bad, says).toEqual({});
  expect(answered, says).toBe(400);
});
