import { Agent, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { createConnection } from 'mysql2/promise';
import { expect, it, onTestFinished } from 'vitest';
import { readMetrics, sumOf } from '../support/metric-text.js';
import { needs } from '../support/needs.js';
import { tokenFor } from '../support/service.js';
import { startTcpProxy } from '../support/tcp-proxy.js';
import { Callers, isGood, summary } from './rig/callers.js';
import { figure } from './rig/figures.js';
import { ledgerOf } from './rig/ledger.js';
import { databaseOnMysql, startProcess } from './rig/service-process.js';

/** The most that a get of a cached route may take beside other callers, in milliseconds. */
const QUICK_MS = 100;
/** How soon a caller with too many creates is told, even on a busy machine, in milliseconds. */
const REFUSED_MS = 2_000;
/** The most calls of one caller that wait for the database: half of `MAX_WAITING_CALLS`. */
const OWN_SHARE = 512;
/** More than they are. */
const CREATES = 1_500;
/** How many creates one caller begins at the same time, and the pause before the next ones, in milliseconds. */
const WAVE = 100;
const WAVE_PAUSE_MS = 20;

interface Answer {
  /** The HTTP status, or `left` if the client has left. */
  readonly status: number | 'left';
  readonly location: string | undefined;
  readonly retryAfter: string | undefined;
  readonly ms: number;
}

/** A client over REST, which ends with the test. */
class RestClient {
  readonly #http: string;
  readonly #authorization: string;
  readonly #agent = new Agent({ keepAlive: true });

  constructor(http: string, sub: string) {
    this.#http = http;
    this.#authorization = `Bearer ${tokenFor({ sub, exp: Math.floor(Date.now() / 1_000) + 3_600 })}`;
    onTestFinished(() => {
      this.#agent.destroy();
    });
  }

  get(path: string, headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
    return this.#send('GET', path, headers);
  }

  /** @param leavesAfterMs when the client leaves; default: never */
  create(handler: string, leavesAfterMs?: number): Promise<Answer> {
    const route = JSON.stringify({ method: 'GET', path: `/${handler}`, handler });
    return this.#send('POST', '/v1/routing', { 'content-type': 'application/json' }, route, leavesAfterMs);
  }

  #send(
    method: string,
    path: string,
    headers: Readonly<Record<string, string>>,
    body = '',
    leavesAfterMs?: number,
  ): Promise<Answer> {
    const begun = performance.now();
    return new Promise((resolve) => {
      const all = { authorization: this.#authorization, ...headers };
      const sent = request(this.#http + path, { method, agent: this.#agent, headers: all }, (response) => {
        response.resume().on('close', () => {
          const { location, 'retry-after': retryAfter } = response.headers;
          const status = response.statusCode ?? 0;
          resolve({ status, location, retryAfter, ms: performance.now() - begun });
        });
      });
      sent.on('error', () => {
        resolve({
          status: 'left',
          location: undefined,
          retryAfter: undefined,
          ms: performance.now() - begun,
        });
      });
      sent.end(body);
      if (leavesAfterMs !== undefined) setTimeout(() => sent.destroy(), leavesAfterMs);
    });
  }
}

/** How many answers there were of each status. */
function countsOf(answers: readonly Answer[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

/** A gateway in front of its server. @param settings of both */
async function startApart(settings: Readonly<Record<string, string>> = {}) {
  const url = await databaseOnMysql();
  const server = await startProcess({ ROLE: 'grpc', DATABASE_URL: url, ...settings });
  const gateway = await startProcess({ ROLE: 'gateway', GRPC_UPSTREAM: server.grpc, ...settings });
  return { url, server, gateway };
}

it(
  'behind a separate gateway, the deadlines and departures of others fail no call',
  needs('server'),
  async () => {
    const { url, server, gateway } = await startApart();
    const innocent = new Callers({ grpc: server.grpc, http: gateway.http, each: 4, pauseMs: 1 });
    const others = new RestClient(gateway.http, 'others');
    const answers: Answer[] = [];
    for (let round = 0; round < 5; round++) {
      const late = { 'request-timeout': '0.001' };
      const gets = Array.from({ length: 200 }, () => others.get('/v1/routing/unknown', late));
      const creates = Array.from({ length: 200 }, (_, i) => others.create(`left${round}x${i}`, i % 20));
      answers.push(...(await Promise.all([...gets, ...creates])));
    }
    const creates = await innocent.stop();
    const { good, bad } = summary(creates);
    const ledger = await ledgerOf(url, creates);
    const metrics = await (await fetch(`${gateway.ops}/metrics`)).text();
    const left = Number(/^route_registry_calls_left_running_total (\d+)$/m.exec(metrics)?.[1]);
    figure('gateway apart, deadlines and departures', {
      good,
      bad: JSON.stringify(bad),
      others: JSON.stringify(countsOf(answers)),
      'left running': left,
    });
    expect.soft(bad).toEqual({});
    expect.soft(ledger).toMatchObject({ lost: 0, doubled: 0 });
    expect.soft(good).toBeGreaterThan(100);
    expect.soft(Object.keys(countsOf(answers))).toEqual(expect.arrayContaining(['504', 'left']));
  },
);

it(
  'behind a separate gateway, gets of others are quick while one caller has 1,500 creates waiting for a locked table',
  needs('server'),
  async () => {
    const { url, server, gateway } = await startApart({ DEADLINE_MS: '15000' });
    const other = new RestClient(gateway.http, 'other');
    const { location = '' } = await other.create('cached');
    await other.get(new URL(location, gateway.http).pathname);
    const database = await createConnection({ uri: url });
    onTestFinished(() => database.end());
    await database.query('lock tables routes write');

    const flood = new RestClient(gateway.http, 'flood');
    const creates: Promise<Answer>[] = [];
    // In waves: a listener's queue holds 511 connections, and whoever finds it full tries again after a second or more.
    for (let first = 0; first < CREATES; first += WAVE) {
      for (let i = first; i < first + WAVE; i++) creates.push(flood.create(`locked${i}`));
      await sleep(WAVE_PAUSE_MS);
    }
    // What the caller has beyond its share is refused, and the rest waits.
    await Promise.all(creates.slice(OWN_SHARE));
    await expect
      .poll(async () => {
        const metrics = readMetrics(await (await fetch(`${server.ops}/metrics`)).text());
        return sumOf(metrics, 'grpc_server_active_calls', { grpc_method: 'CreateRoute' });
      })
      .toBe(OWN_SHARE);
    const gets: Answer[] = [];
    const until = performance.now() + 2_000;
    while (performance.now() < until) {
      const path = new URL(location, gateway.http).pathname;
      gets.push(...(await Promise.all(Array.from({ length: 4 }, () => other.get(path)))));
      await sleep(5);
    }
    await database.query('unlock tables');
    const answers = await Promise.all(creates);
    const refused = answers.filter(({ status }) => status === 429);
    const measured = {
      gets: gets.length,
      'slowest get ms': Math.max(...gets.map(({ ms }) => ms)),
      creates: JSON.stringify(countsOf(answers)),
      'slowest refusal ms': Math.max(0, ...refused.map(({ ms }) => ms)),
    };
    figure(`gateway apart, ${CREATES} creates of one caller wait`, measured);
    const says = JSON.stringify(measured);
    expect.soft(countsOf(gets), says).toEqual({ 200: gets.length });
    expect.soft(measured['slowest get ms'], says).toBeLessThan(QUICK_MS);
    expect.soft(refused.length, says).toBe(CREATES - OWN_SHARE);
    expect.soft(measured['slowest refusal ms'], says).toBeLessThan(REFUSED_MS);
    expect
      .soft(
        Object.keys(countsOf(answers)).filter((answer) => !['201', '429'].includes(answer)),
        says,
      )
      .toEqual([]);
    expect.soft(refused.filter(({ retryAfter }) => retryAfter === undefined)).toEqual([]);
  },
);

it('a separate gateway loses no call while its connections are renewed', needs('server'), async () => {
  const { url, server, gateway } = await startApart({ GRPC_MAX_AGE_MS: '1500' });
  const callers = new Callers({ grpc: server.grpc, http: gateway.http, each: 8, pauseMs: 0 });
  await sleep(4_000);
  const creates = (await callers.stop()).filter(({ protocol }) => protocol === 'rest');
  const { good, bad } = summary(creates);
  figure('gateway apart, connections renewed every 1.5 s', { good, bad: JSON.stringify(bad) });
  expect.soft(bad).toEqual({});
  expect.soft(good).toBeGreaterThan(100);
  expect.soft(await ledgerOf(url, creates)).toMatchObject({ lost: 0, doubled: 0 });
});

it(
  'a separate gateway notices within 15 seconds that its network drops everything',
  needs('server'),
  async () => {
    const url = await databaseOnMysql();
    const server = await startProcess({ ROLE: 'grpc', DATABASE_URL: url });
    const network = await startTcpProxy(Number(server.grpc.split(':')[1]));
    onTestFinished(() => network.close());
    const gateway = await startProcess({
      ROLE: 'gateway',
      GRPC_UPSTREAM: `127.0.0.1:${network.port}`,
      DEADLINE_MS: '1000',
    });
    const callers = new Callers({ grpc: server.grpc, http: gateway.http, each: 2, pauseMs: 20 });
    await sleep(500);
    network.loseConnections();
    const cutAt = performance.now();
    await expect
      .poll(
        () =>
          callers.creates.some(
            ({ protocol, end, endedAt }) => protocol === 'rest' && isGood(end) && endedAt > cutAt + 1_000,
          ),
        { timeout: 25_000, interval: 20 },
      )
      .toBe(true);
    const backAfterMs = performance.now() - cutAt;
    const creates = (await callers.stop()).filter(({ protocol }) => protocol === 'rest');
    const { bad } = summary(creates);
    figure('gateway apart, its network drops everything', {
      'back after ms': backAfterMs,
      bad: JSON.stringify(bad),
    });
    expect.soft(backAfterMs).toBeLessThan(17_000);
    expect.soft(Object.keys(bad).filter((end) => !['503', '504'].includes(end))).toEqual([]);
  },
);
