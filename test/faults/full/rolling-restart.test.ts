import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { needs } from '../../support/needs.js';
import { Callers, summary } from '../rig/callers.js';
import { figure } from '../rig/figures.js';
import { startHaproxy } from '../rig/haproxy.js';
import { ledgerOf } from '../rig/ledger.js';
import { scale } from '../rig/scale.js';
import { addressesOf, databaseOnMysql, startProcess } from '../rig/service-process.js';

/** The time until the balancer has noticed that an instance is back, in milliseconds. */
const SEEN_MS = 2_500;

it(
  'a rolling restart behind HAProxy, without retries, fails no request over either protocol',
  needs('server', 'haproxy'),
  async () => {
    const url = await databaseOnMysql();
    // More than fall × inter + 1 s.
    const settings = { DATABASE_URL: url, DRAIN_DELAY_MS: '2500' };
    const instances = [await startProcess(settings), await startProcess(settings)];
    const portOf = (address: string): number => Number(address.split(':').at(-1));
    const balancer = await startHaproxy(
      instances.map(({ grpc, http }) => ({ grpcPort: portOf(grpc), httpPort: portOf(http) })),
    );
    await sleep(SEEN_MS);
    const callers = new Callers({ ...balancer, each: 8, pauseMs: 2 });
    const exits: (number | null)[] = [];
    for (let kill = 0; kill < scale.kills; kill++) {
      for (const [i, instance] of instances.entries()) {
        await sleep(500);
        exits.push((await instance.program.stop()).exitCode);
        instances[i] = await startProcess({ ...settings, ...addressesOf(instance) });
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
    expect.soft(new Set(exits)).toEqual(new Set([0]));
    expect.soft(ledger).toMatchObject({ lost: 0, doubled: 0 });
    expect.soft(good).toBeGreaterThan(100);
  },
);
