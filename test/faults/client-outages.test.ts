import { setTimeout as sleep } from 'node:timers/promises';
import type { RouteClient } from '@route-registry/client';
import { stringify } from 'uuid';
import { expect, it, onTestFinished } from 'vitest';
import { firstBlock, repeatedBlock } from '../../bench/load/hpack.js';
import { DEFINITION, failureOf } from '../../packages/client/test/support/test-client.js';
import { query } from './rig/database-server.js';
import { startDistantProxy } from './rig/distant-proxy.js';
import { figure } from './rig/figures.js';
import { addressesOf, databaseOnMysql, type ServiceProcess, startProcess } from './rig/service-process.js';
import { FrameConnection } from '../support/frame-connection.js';
import { ACK, CANCEL, grpcHead, uint32, PING, RST_STREAM, socketTo } from '../support/http2-frames.js';
import { needs } from '../support/needs.js';
import { startTcpProxy } from '../support/tcp-proxy.js';
import { routeClient } from '../client/route-client.js';

/** Long enough for a restart. */
const PATIENT = { timeoutMs: 15_000 };

async function statusOf(call: Promise<unknown>): Promise<string> {
  return (await failureOf(call)).status;
}

interface Callers {
  readonly stored: readonly string[];
  readonly stop: () => Promise<void>;
}

/** Starts callers that create one route after the other. The first failure fails the test, at the stop. */
function startCallers(client: RouteClient, count: number): Callers {
  const stored: string[] = [];
  let stopped = false;
  const callers = Array.from({ length: count }, async () => {
    while (!stopped) stored.push((await client.createRoute(DEFINITION, PATIENT)).id);
  });
  const ended = Promise.all(callers);
  // It is told at the stop.
  ended.catch(() => undefined);
  const stop = async (): Promise<void> => {
    stopped = true;
    await ended;
  };
  return { stored, stop };
}

/** The ids of all stored routes. */
async function storedIds(databaseUrl: string): Promise<string[]> {
  const rows = await query(databaseUrl, 'select id from routes');
  return rows.map(({ id }) => stringify(id as Buffer));
}

it(
  'two services behind one target share the calls, and one serves all when the other is killed: no create fails or is stored twice',
  needs('server'),
  async () => {
    const url = await databaseOnMysql();
    const settings = { DATABASE_URL: url, LOG_LEVEL: 'debug' };
    const services = [await startProcess(settings), await startProcess(settings)];
    const client = routeClient(`ipv4:${services.map(({ grpc }) => grpc).join(',')}`);
    const servedBy = ({ program }: ServiceProcess): number =>
      program.lines().filter((line) => line['code'] !== undefined).length;
    const { stored, stop } = startCallers(client, 8);
    await expect.poll(() => services.map(servedBy).every((count) => count > 20)).toBe(true);
    await services[0]?.program.stop('SIGKILL');
    const atKill = stored.length;
    await expect.poll(() => stored.length).toBeGreaterThan(atKill + 100);
    await stop();
    expect((await storedIds(url)).sort()).toEqual([...stored].sort());
  },
);

it(
  'a service that is away for three seconds, stopped or killed, fails no create with a longer time limit',
  needs('server'),
  async () => {
    const url = await databaseOnMysql();
    let service = await startProcess({ DATABASE_URL: url });
    const settings = { DATABASE_URL: url, ...addressesOf(service) };
    const { stored, stop } = startCallers(routeClient(service.grpc), 20);
    for (const signal of ['SIGTERM', 'SIGKILL', 'SIGKILL'] as const) {
      const before = stored.length;
      await expect.poll(() => stored.length).toBeGreaterThan(before + 200);
      await service.program.stop(signal);
      await sleep(3_000);
      service = await startProcess(settings);
    }
    await stop();
    figure('client, three restarts', { creates: stored.length });
    expect((await storedIds(url)).sort()).toEqual([...stored].sort());
  },
);

it('200 gets a second that time out, and so end their connection again and again, fail no creates of the same client', async () => {
  const { grpc } = await startProcess({ DATABASE_URL: 'sqlite::memory:' });
  const port = await startDistantProxy(Number(grpc.split(':')[1]), 20);
  const client = routeClient(`127.0.0.1:${port}`);
  await client.createRoute(DEFINITION);
  const { stored, stop } = startCallers(client, 10);
  const gets: Promise<string>[] = [];
  for (let tenth = 0; tenth < 200; tenth++) {
    // Sent, and answered too late.
    gets.push(...Array.from({ length: 20 }, () => statusOf(client.getRoute('x', { timeoutMs: 30 }))));
    await sleep(100);
  }
  await stop();
  figure('client, beside gets that time out', { creates: stored.length });
  expect(new Set(await Promise.all(gets))).toEqual(new Set(['DEADLINE_EXCEEDED']));
});

it('400 creates that one signal aborts while the service stands still leave 20 gets of the same client right', async () => {
  const { grpc, pid } = await startProcess({ DATABASE_URL: 'sqlite::memory:' });
  const client = routeClient(grpc);
  const { id } = await client.createRoute(DEFINITION);
  const controller = new AbortController();
  const { signal } = controller;
  process.kill(pid, 'SIGSTOP');
  const aborted = Array.from({ length: 400 }, () => statusOf(client.createRoute(DEFINITION, { signal })));
  const others = Array.from({ length: 20 }, () => client.getRoute(id, PATIENT));
  await sleep(1_000);
  controller.abort();
  await sleep(1_000);
  process.kill(pid, 'SIGCONT');
  await expect(Promise.all(others)).resolves.toHaveLength(20);
  expect(new Set(await Promise.all(aborted))).toEqual(new Set(['CANCELLED']));
});

it('220 calls that a client resets in one write do not end their connection', async () => {
  const { grpc } = await startProcess({ DATABASE_URL: 'sqlite::memory:' });
  const socket = socketTo(grpc);
  onTestFinished(() => {
    socket.destroy();
  });
  const fields = grpcHead('/routing.v1.RouteService/GetRoute');
  const ended = new Promise<boolean>((resolve) => {
    let answers = 0;
    const connection = new FrameConnection(socket, {}, ({ type, flags }) => {
      if (type !== PING || (flags & ACK) === 0) return;
      answers += 1;
      // The first answer comes after the server's settings.
      const calls = answers === 1 ? 220 : 0;
      for (let i = 0; i < calls; i++) {
        const stream = connection.begin(i === 0 ? firstBlock(fields) : repeatedBlock(fields));
        connection.send(RST_STREAM, 0, stream, uint32(CANCEL));
      }
      if (answers === 1) connection.send(PING, 0, 0, Buffer.alloc(8));
      else resolve(false);
    });
    connection.send(PING, 0, 0, Buffer.alloc(8));
    socket.once('close', () => {
      resolve(true);
    });
  });
  expect(await ended).toBe(false);
});

it('a silently lost connection is abandoned after 15 seconds, and a new one serves', async () => {
  const { grpc } = await startProcess({ DATABASE_URL: 'sqlite::memory:' });
  const proxy = await startTcpProxy(Number(grpc.split(':')[1]));
  onTestFinished(() => proxy.close());
  const client = routeClient(`127.0.0.1:${proxy.port}`);
  const { id } = await client.createRoute(DEFINITION);
  proxy.loseConnections();
  expect(await failureOf(client.getRoute(id, { timeoutMs: 1_000 }))).toMatchObject({
    status: 'DEADLINE_EXCEEDED',
  });
  await expect
    .poll(() => client.getRoute(id, { timeoutMs: 1_000 }).catch(() => undefined), { timeout: 20_000 })
    .toMatchObject({ id });
}, 60_000);
