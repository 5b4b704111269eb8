import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { needs } from '../support/needs.js';
import { acknowledgedAgain } from './rig/answers-again.js';
import { Callers, summary } from './rig/callers.js';
import { figure } from './rig/figures.js';
import { ledgerOf } from './rig/ledger.js';
import { scale } from './rig/scale.js';
import { addressesOf, databaseOnMysql, startProcess } from './rig/service-process.js';

it.each([
  { signal: 'SIGKILL', exit: null },
  { signal: 'SIGTERM', exit: 0 },
] as const)(
  'a service that gets $signal under load loses no acknowledged create and stores none twice',
  needs('server'),
  async ({ signal, exit }) => {
    const url = await databaseOnMysql();
    let service = await startProcess({ DATABASE_URL: url });
    const settings = { DATABASE_URL: url, ...addressesOf(service) };
    const callers = new Callers({ ...service, each: 8, pauseMs: 1 });
    const insisting = new Callers({ ...service, each: 8, pauseMs: 1, insist: true });
    const exits: (number | null)[] = [];
    for (let kill = 0; kill < scale.kills; kill++) {
      await sleep(700);
      exits.push((await service.program.stop(signal)).exitCode);
      service = await startProcess(settings);
      await acknowledgedAgain(callers);
    }
    const ledger = await ledgerOf(url, await callers.stop());
    const withIds = await ledgerOf(url, await insisting.stop());
    figure(`service ${signal}`, { ...ledger, bad: JSON.stringify(summary(callers.creates).bad) });
    figure(`service ${signal}, with request ids`, { ...withIds });
    expect.soft(ledger).toMatchObject({ lost: 0, doubled: 0 });
    expect.soft(withIds).toMatchObject({ acknowledged: insisting.creates.length, lost: 0, doubled: 0 });
    expect.soft(new Set(exits)).toEqual(new Set([exit]));
  },
);
