import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { needs } from '../support/needs.js';
import { acknowledgedAgain } from './rig/answers-again.js';
import { Callers, isGood, summary } from './rig/callers.js';
import { figure } from './rig/figures.js';
import { ledgerOf } from './rig/ledger.js';
import { databaseOnMysql, startProcess } from './rig/service-process.js';

const DEADLINE_MS = '1000';
/** The outcomes of calls that are allowed while a server is unavailable. */
const OUTAGE = ['503', '504', 'UNAVAILABLE', 'DEADLINE_EXCEEDED'];

async function startServers(count: number) {
  const url = await databaseOnMysql();
  const settings = { ROLE: 'grpc', DATABASE_URL: url, DEADLINE_MS };
  const servers = await Promise.all(Array.from({ length: count }, () => startProcess(settings)));
  const target = `ipv4:${servers.map(({ grpc }) => grpc).join(',')}`;
  const gateway = await startProcess({ ROLE: 'gateway', GRPC_UPSTREAM: target, DEADLINE_MS });
  return { url, settings, servers, gateway };
}

it(
  'a separate gateway serves again when its killed server is back, and no acknowledged create is lost',
  needs('server'),
  async () => {
    const { url, settings, servers, gateway } = await startServers(1);
    const callers = new Callers({ grpc: servers[0]?.grpc ?? '', http: gateway.http, each: 4 });
    await sleep(500);
    await servers[0]?.program.stop('SIGKILL');
    await sleep(500);
    await startProcess({ ...settings, GRPC_ADDRESS: servers[0]?.grpc ?? '' });
    const back = await acknowledgedAgain(callers);
    const creates = await callers.stop();
    const ledger = await ledgerOf(url, creates);
    const { bad } = summary(creates);
    figure('gateway apart, server killed', { ...ledger, bad: JSON.stringify(bad), 'back after ms': back });
    expect.soft(ledger).toMatchObject({ lost: 0, doubled: 0 });
    expect.soft(Object.keys(bad).filter((end) => !OUTAGE.includes(end))).toEqual([]);
  },
);

it(
  'a separate gateway responds within the deadline while its server is frozen, and serves afterwards',
  needs('server'),
  async () => {
    const { url, servers, gateway } = await startServers(1);
    const callers = new Callers({ grpc: servers[0]?.grpc ?? '', http: gateway.http, each: 4 });
    await sleep(500);
    process.kill(servers[0]?.pid ?? 0, 'SIGSTOP');
    await sleep(2_500);
    const rest = callers.creates.filter(({ protocol, end }) => protocol === 'rest' && !isGood(end));
    process.kill(servers[0]?.pid ?? 0, 'SIGCONT');
    const back = await acknowledgedAgain(callers);
    const creates = await callers.stop();
    const ledger = await ledgerOf(url, creates);
    const slowest = Math.max(...rest.map(({ ms }) => ms));
    figure('gateway apart, server frozen', {
      ...ledger,
      'slowest refusal ms': slowest,
      'back after ms': back,
    });
    expect.soft(new Set(rest.map(({ end }) => end))).toEqual(new Set(['504']));
    expect.soft(slowest).toBeLessThan(1_500);
    expect.soft(ledger).toMatchObject({ lost: 0, doubled: 0 });
  },
);

it(
  'a separate gateway fails over to the second of two servers within a second',
  needs('server'),
  async () => {
    const { url, servers, gateway } = await startServers(2);
    const callers = new Callers({ grpc: servers[1]?.grpc ?? '', http: gateway.http, each: 4 });
    await sleep(700);
    await servers[0]?.program.stop('SIGKILL');
    const killedAt = performance.now();
    await sleep(2_000);
    const creates = await callers.stop();
    const ledger = await ledgerOf(url, creates);
    const bad = creates.filter(({ end }) => !isGood(end));
    const lastBadMs = Math.max(0, ...bad.map(({ endedAt }) => endedAt - killedAt));
    figure('gateway apart, one of two servers killed', {
      ...ledger,
      bad: JSON.stringify(summary(creates).bad),
      'last failure after ms': lastBadMs,
    });
    expect.soft(lastBadMs).toBeLessThan(1_000);
    expect.soft(ledger).toMatchObject({ lost: 0, doubled: 0 });
    expect.soft(ledger.acknowledged).toBeGreaterThan(0);
  },
);
