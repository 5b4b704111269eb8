import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { needs } from '../../support/needs.js';
import { Callers, summary } from '../rig/callers.js';
import { figure } from '../rig/figures.js';
import { startInstances } from '../rig/haproxy.js';
import { ledgerOf } from '../rig/ledger.js';
import { scale } from '../rig/scale.js';
import { databaseOnMysql, startProcess } from '../rig/service-process.js';

/** The time until HAProxy has noticed that an instance is up, in milliseconds: rise × inter, and a second. */
const SEEN_MS = 3_000;
/** How long a stopping instance serves on, in milliseconds: until HAProxy sends it nothing, fall × inter, and some more. */
const DRAIN_DELAY_MS = '2500';

it(
  'a rolling restart behind HAProxy, without retries, fails no request over either protocol, which it shares out',
  needs('server', 'haproxy'),
  async () => {
    const url = await databaseOnMysql();
    const { grpc, http, instances } = await startInstances({ DATABASE_URL: url, DRAIN_DELAY_MS });
    await sleep(SEEN_MS);
    const callers = new Callers({ grpc, http, each: 8, pauseMs: 2 });
    const ends: { exitCode: number | null; protocols: Set<unknown> }[] = [];
    for (let kill = 0; kill < scale.kills; kill++) {
      for (const instance of instances) {
        await sleep(500);
        const { program } = instance.process;
        const { exitCode } = await program.stop();
        ends.push({ exitCode, protocols: new Set(program.lines().map(({ protocol }) => protocol)) });
        instance.process = await startProcess(instance.settings);
        await sleep(SEEN_MS);
      }
    }
    const creates = await callers.stop();
    const { good, bad, p99Ms } = summary(creates);
    const ledger = await ledgerOf(url, creates);
    figure('rolling restart behind HAProxy', {
      requests: creates.length,
      good,
      failed: JSON.stringify(bad),
      'p99 ms': p99Ms,
      lost: ledger.lost,
    });
    expect.soft(bad, `of ${creates.length} requests`).toEqual({});
    const protocols = new Set([undefined, 'rest', 'grpc']);
    expect.soft(ends).toEqual(ends.map(() => ({ exitCode: 0, protocols })));
    expect.soft(ledger).toMatchObject({ lost: 0, doubled: 0 });
    expect.soft(good).toBeGreaterThan(100);
  },
);
