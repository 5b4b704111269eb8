import { setTimeout as sleep } from 'node:timers/promises';
import { status } from '@grpc/grpc-js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { needs } from '../../support/needs.js';
import { tokenFor } from '../../support/service.js';
import { throughPort } from '../../support/tcp-proxy.js';
import { Callers, summary } from '../rig/callers.js';
import { type DatabaseServer, query, startDatabaseServer } from '../rig/database-server.js';
import { startDistantProxy } from '../rig/distant-proxy.js';
import { figure } from '../rig/figures.js';
import { storedNumbers } from '../rig/ledger.js';
import { runLoad } from '../rig/load-process.js';
import { scale } from '../rig/scale.js';
import { startProcess } from '../rig/service-process.js';
import { crowdOf } from '../rig/crowd.js';

/** The creates in two statements with full batches, which may be under way when calls give up. */
const UNDER_WAY = 128;
const ONE_WAY_MS = 100;
/** The statuses of one create over each connection of a crowd. */
const ALL_GOOD = Array.from({ length: 8 }, () => 'OK');
const EXPECTED: readonly number[] = [status.OK, status.RESOURCE_EXHAUSTED];

let server: DatabaseServer;

beforeAll(async () => {
  server = await startDatabaseServer();
});

afterAll(() => server.close());

describe('with a database that is 200 ms away', needs('mariadbd'), () => {
  it('at 6,000 creates a second, as many succeed as the service can carry, and no refused one is stored', async () => {
    const url = await server.createDatabase();
    const distant = throughPort(url, await startDistantProxy(server.port, ONE_WAY_MS));
    const service = await startProcess({ DATABASE_URL: distant });
    const load = { connections: 8, durationMs: 2 * scale.loadMs };
    const { goodRate: peak } = await runLoad(service, { ...load, callers: 256 });
    const result = await runLoad(service, { ...load, rate: 6_000 });
    const stored = await storedNumbers(url);
    const statuses = [...Buffer.from(result.statuses, 'base64')];
    const storedWith = (code: number): number =>
      statuses.filter((value, i) => value === code && stored.has(result.first + i)).length;
    const measured = {
      'peak/s': peak,
      'good/s': result.goodRate,
      due: result.due,
      sent: result.sent,
      ends: JSON.stringify(result.ends),
      'p99 of refused ms': result.refusedP99Ms,
      'refused but stored': storedWith(status.RESOURCE_EXHAUSTED),
      'late but stored': storedWith(status.DEADLINE_EXCEEDED),
      'acknowledged and lost': (result.ends[0] ?? 0) - storedWith(status.OK),
    };
    figure('6,000 creates/s, database 200 ms away', measured);
    const says = JSON.stringify(measured);
    expect.soft(measured['good/s'], says).toBeGreaterThanOrEqual(0.8 * peak);
    expect.soft(measured['p99 of refused ms'], says).toBeLessThan(100);
    expect.soft(measured['refused but stored'], says).toBe(0);
    expect.soft(measured['late but stored'], says).toBeLessThanOrEqual(UNDER_WAY);
    expect.soft(measured['acknowledged and lost'], says).toBe(0);
    expect
      .soft(Object.keys(result.ends).map(Number), says)
      .toSatisfy((codes: number[]) => codes.every((code) => EXPECTED.includes(code)));
  });

  it('one caller with too many creates leaves room for another', async () => {
    const url = throughPort(await server.createDatabase(), await startDistantProxy(server.port, ONE_WAY_MS));
    const service = await startProcess({ DATABASE_URL: url, MAX_WAITING_CALLS: '256' });
    const flood = runLoad(service, {
      connections: 16,
      durationMs: 3 * scale.loadMs,
      rate: 6_000,
      token: tokenFor({ sub: 'flood' }),
    });
    await sleep(1_000);
    const other = new Callers({ ...service, each: 2, sub: 'other' });
    const { ends } = await flood;
    const { good, bad, p99Ms } = summary(await other.stop());
    const refused = Object.values(bad).reduce((sum, count) => sum + count, 0);
    figure('one caller floods, another goes on', {
      good,
      bad: JSON.stringify(bad),
      'p99 ms': p99Ms,
      'the flood': JSON.stringify(ends),
    });
    expect.soft(ends[status.RESOURCE_EXHAUSTED] ?? 0, JSON.stringify(ends)).toBeGreaterThan(0);
    expect.soft(good / (good + refused), JSON.stringify(bad)).toBeGreaterThanOrEqual(0.99);
    expect.soft(p99Ms).toBeLessThan(2_000);
  });
});

describe('with a frozen database', needs('mariadbd'), () => {
  it.each(['the deadline passed', 'the caller cancelled'] as const)(
    'creates are never stored if %s before they were sent to the database',
    async (reason) => {
      const url = await server.createDatabase();
      const service = await startProcess({ DATABASE_URL: url });
      const crowd = crowdOf(service.grpc, reason);
      expect(await crowd.createFew()).toEqual(ALL_GOOD);
      server.freeze();
      const ends = await crowd.createMany(1_000).finally(() => {
        server.thaw();
      });
      await expect.poll(() => crowd.createFew(), { timeout: 10_000 }).toEqual(ALL_GOOD);
      await sleep(500);
      const [row] = await query(url, "select count(*) as stored from routes where handler like 'many%'");
      const stored = Number(row?.['stored']);
      figure(`1,000 creates on a frozen database, ${reason}`, { ends: JSON.stringify(ends), stored });
      expect.soft(ends['OK'] ?? 0).toBe(0);
      expect(stored, `${stored} of 1,000 are stored`).toBeLessThanOrEqual(UNDER_WAY);
    },
  );
});
