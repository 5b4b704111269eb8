import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { freePort } from '../support/free-port.js';
import { acknowledgedAgain } from './rig/answers-again.js';
import { Callers, summary } from './rig/callers.js';
import { figure } from './rig/figures.js';
import { ledgerOf } from './rig/ledger.js';
import { scale } from './rig/scale.js';
import { databaseOnMysql, startProcess } from './rig/service-process.js';

it.each([
  { signal: 'SIGKILL', exit: null, insist: true },
  { signal: 'SIGKILL', exit: null, insist: false },
  { signal: 'SIGTERM', exit: 0, insist: true },
  { signal: 'SIGTERM', exit: 0, insist: false },
] as const)(
  'a service that gets $signal under load loses and doubles no acknowledged create (request ids: $insist)',
  async ({ signal, exit, insist }) => {
    const url = await databaseOnMysql();
    const settings = {
      DATABASE_URL: url,
      GRPC_ADDRESS: `127.0.0.1:${await freePort()}`,
      HTTP_ADDRESS: `127.0.0.1:${await freePort()}`,
    };
    let service = await startProcess(settings);
    const callers = new Callers({ ...service, each: 8, pauseMs: 1, insist });
    const exits: (number | null)[] = [];
    for (let kill = 0; kill < scale.kills; kill++) {
      await sleep(700);
      exits.push((await service.program.stop(signal)).exitCode);
      service = await startProcess(settings);
      await acknowledgedAgain(callers);
    }
    const creates = await callers.stop();
    const ledger = await ledgerOf(url, creates);
    const bad = JSON.stringify(summary(creates).bad);
    figure(`service ${signal}, request ids: ${String(insist)}`, { ...ledger, bad });
    expect.soft(ledger, bad).toMatchObject({ lost: 0, doubled: 0 });
    expect.soft(new Set(exits)).toEqual(new Set([exit]));
  },
);
