import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { rssMib } from '../../bench/process-usage.js';
import { DEFINITION, post } from '../support/requests.js';
import { tokenFor } from '../support/service.js';
import type { RestAttack } from './programs/rest-attack.js';
import { Callers, summary } from './rig/callers.js';
import { figure } from './rig/figures.js';
import { peakMib, startProgram } from './rig/load-process.js';
import { type ServiceProcess, startProcess, tlsSettings } from './rig/service-process.js';

async function start(settings: Readonly<Record<string, string>> = {}): Promise<ServiceProcess> {
  return startProcess({ DATABASE_URL: 'sqlite::memory:', ...settings });
}

/** Attacks the service from another process. @returns the count of the attack, and the memory of the service in MiB */
async function attack(
  service: ServiceProcess,
  what: Pick<RestAttack, 'name' | 'connections'> & Partial<RestAttack>,
): Promise<{ count: number; before: number; peak: number }> {
  const before = rssMib(service.pid);
  const http = new URL(service.http).host;
  const all = {
    grpc: service.grpc,
    http,
    ops: service.ops,
    token: tokenFor({ sub: 'attacker' }),
    durationMs: 1_500,
    ...what,
  };
  const done = startProgram('rest-attack', all).message('done') as Promise<{ count: number }>;
  const { result, mib: peak } = await peakMib(service.pid, done);
  return { count: result.count, before, peak };
}

const worstOf = (creates: readonly { readonly ms: number }[]): number =>
  Math.max(...creates.map(({ ms }) => ms));

it('unread pages hold one piece in memory for each connection, even with TLS', async () => {
  const service = await start(await tlsSettings());
  const { count, before, peak } = await attack(service, {
    name: 'unauthenticated clients do not read a page',
    connections: 200,
  });
  figure('unread pages over TLS', { connections: count, before, peak });
  expect.soft(count).toBe(200);
  expect.soft(peak - before).toBeLessThan(80);
});

it('requests with unread responses share a limit, and lose their connection beyond it', async () => {
  const service = await start(await tlsSettings());
  const name = 'unauthenticated clients request many pages and do not read them';
  const { count, before, peak } = await attack(service, { name, connections: 1_000 });
  figure(name, { connections: 1_000, 'of them left': count, before, peak });
  expect.soft(count).toBeLessThan(100);
  expect.soft(peak - before).toBeLessThan(600);
});

it('memory stays bounded while a caller sends single bytes', async () => {
  const service = await start();
  const name = 'a caller sends single bytes';
  const { before, peak } = await attack(service, { name, connections: 400, durationMs: 4_000 });
  figure(name, { connections: 400, before, peak });
  expect(peak).toBeLessThan(250);
});

it('half-sent requests of one caller leave room for others, over both protocols', async () => {
  // More than the attack takes over gRPC, where streams are shared, and less than twice what it takes over REST.
  const service = await start({ MAX_CALLS: '512' });
  const attacked = attack(service, { name: 'a caller sends half bodies', connections: 4, durationMs: 2_500 });
  await sleep(1_000);
  const callers = new Callers({ ...service, each: 4 });
  await attacked;
  const creates = await callers.stop();
  const { good, bad } = summary(creates);
  figure('half-sent requests', { good, bad: JSON.stringify(bad), worstMs: worstOf(creates) });
  expect.soft(good).toBeGreaterThan(0);
  expect.soft(bad).toEqual({});
});

/** Creates a route whose body follows its head. @returns the status */
async function lateCreate({ http }: ServiceProcess): Promise<number | undefined> {
  const body = JSON.stringify(DEFINITION);
  const sent = request(`${http}/v1/routing`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${tokenFor()}`,
      'content-type': 'application/json',
      'content-length': body.length,
    },
    agent: false,
  });
  sent.flushHeaders();
  await sleep(20);
  sent.end(body);
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  response.resume();
  return response.statusCode;
}

/** The id of a new route. */
async function createRoute(service: ServiceProcess): Promise<string> {
  const response = await post({ httpUrl: service.http });
  return ((await response.json()) as { id: string }).id;
}

/** Gets a route one time after another. @returns the number of responses, all 200, and the longest time in milliseconds */
async function gets({ http }: ServiceProcess, id: string, durationMs: number) {
  const headers = { authorization: `Bearer ${tokenFor()}` };
  const until = performance.now() + durationMs;
  let count = 0;
  let longestMs = 0;
  for (let now = performance.now(); now < until; now = performance.now(), count++) {
    const response = await fetch(`${http}/v1/routing/${id}`, { headers });
    await response.arrayBuffer();
    expect(response.status).toBe(200);
    longestMs = Math.max(longestMs, performance.now() - now);
  }
  return { count, longestMs };
}

it('1,100 half-sent requests of one caller take no place of late bodies from others, and delay no get', async () => {
  const service = await start();
  const id = await createRoute(service);
  const attacked = attack(service, {
    name: 'a caller sends half bodies',
    connections: 11,
    durationMs: 4_000,
  });
  await sleep(1_500);
  const statuses = await Promise.all(Array.from({ length: 40 }, () => lateCreate(service)));
  const quiet = await gets(service, id, 500);
  figure('late bodies beside half-sent ones', { others: JSON.stringify(statuses), ...quiet });
  expect.soft(new Set(statuses)).toEqual(new Set([201]));
  expect.soft(quiet.longestMs).toBeLessThan(500);
  await attacked;
});

it('16 connections that request the metrics again and again leave gets of others a third of their rate', async () => {
  const service = await start();
  const id = await createRoute(service);
  await gets(service, id, 500);
  const alone = await gets(service, id, 1_500);
  const attacked = attack(service, {
    name: 'clients request the metrics',
    connections: 16,
    durationMs: 3_000,
  });
  await sleep(1_000);
  const beside = await gets(service, id, 1_500);
  const { count } = await attacked;
  figure('gets beside requests for metrics', { alone: alone.count, beside: beside.count, metrics: count });
  expect.soft(beside.longestMs).toBeLessThan(500);
  expect.soft(beside.count / alone.count).toBeGreaterThan(0.3);
});
