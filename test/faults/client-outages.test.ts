import { setTimeout as sleep } from 'node:timers/promises';
import { type RouteClient, RouteClientError } from '@route-registry/client';
import { stringify } from 'uuid';
import { describe, expect, it, onTestFinished } from 'vitest';
import { firstBlock, repeatedBlock } from '../../bench/load/hpack.js';
import { DEFINITION, failureOf } from '../../packages/client/test/support/test-client.js';
import { query } from './rig/database-server.js';
import { databaseOnMysql, type ServiceProcess, startProcess } from './rig/service-process.js';
import { FrameConnection } from '../support/frame-connection.js';
import { ACK, CANCEL, grpcHead, number, PING, RST_STREAM, socketTo } from '../support/http2-frames.js';
import { needs } from '../support/needs.js';
import { startTcpProxy } from '../support/tcp-proxy.js';
import { routeClient } from '../client/route-client.js';

/** The failures after which a create may have been stored. */
const OPEN = new Set(['UNAVAILABLE', 'DEADLINE_EXCEEDED', 'CANCELLED', 'INTERNAL']);

async function statusOf(call: Promise<unknown>): Promise<string> {
  return (await failureOf(call)).status;
}

/** Creates a route; retries with the same key until the create is acknowledged. */
async function createSurely(client: RouteClient, idempotencyKey: string): Promise<string> {
  for (;;) {
    try {
      return (await client.createRoute(DEFINITION, { idempotencyKey })).id;
    } catch (error) {
      if (!(error instanceof RouteClientError) || !OPEN.has(error.status)) throw error;
      await sleep(100);
    }
  }
}

/** Starts callers that create one route after the other until they are stopped; returns the acknowledged ids. */
function startCallers(
  client: RouteClient,
  count: number,
): { stored: readonly string[]; stop: () => Promise<readonly string[]> } {
  const ids: string[] = [];
  let stopped = false;
  const callers = Array.from({ length: count }, async (_, caller) => {
    for (let number = 0; !stopped; number++) {
      ids.push(await createSurely(client, `caller-${caller}-${number}`));
      await sleep(5);
    }
  });
  const stop = async (): Promise<readonly string[]> => {
    stopped = true;
    await Promise.all(callers);
    return ids;
  };
  return { stored: ids, stop };
}

/** The ids of all stored routes. */
async function storedIds(databaseUrl: string): Promise<string[]> {
  const rows = await query(databaseUrl, 'select id from routes');
  return rows.map(({ id }) => stringify(id as Buffer));
}

it(
  'two services behind one target share the calls, and one serves all when the other is killed, without storing any twice',
  needs('server'),
  async () => {
    const url = await databaseOnMysql();
    const settings = { DATABASE_URL: url, LOG_LEVEL: 'debug' };
    const services = [await startProcess(settings), await startProcess(settings)];
    const [one] = services;
    const client = routeClient(`ipv4:${services.map(({ grpc }) => grpc).join(',')}`);
    const servedBy = ({ program }: ServiceProcess): number =>
      program.lines().filter((line) => line['code'] !== undefined).length;
    await expect
      .poll(async () => {
        await client.createRoute(DEFINITION);
        return services.map(servedBy).every((count) => count > 3);
      })
      .toBe(true);

    const before = await storedIds(url);
    // No more concurrent calls than the client's retry throttling allows to fail.
    const { stored: ids, stop } = startCallers(client, 8);
    await expect.poll(() => ids.length).toBeGreaterThan(50);
    await one?.program.stop('SIGKILL');
    const atKill = ids.length;
    await expect.poll(() => ids.length).toBeGreaterThan(atKill + 100);
    const created = await stop();
    const stored = await storedIds(url);
    expect(new Set(stored)).toEqual(new Set([...before, ...created]));
    expect(stored).toHaveLength(before.length + created.length);
  },
);

describe('beside 20 gets of the same client', () => {
  /** Stops the service's process while the client makes calls, and expects 20 more gets to succeed. */
  async function standStill(
    calls: (
      client: RouteClient,
      id: string,
    ) => { expected: string; outcomes: Promise<unknown>[]; end: () => void },
  ): Promise<void> {
    const { grpc, pid } = await startProcess({ DATABASE_URL: 'sqlite::memory:' });
    const client = routeClient(grpc);
    const { id } = await client.createRoute(DEFINITION);
    process.kill(pid, 'SIGSTOP');
    const { expected, outcomes, end } = calls(client, id);
    const others = Array.from({ length: 20 }, () => client.getRoute(id, { timeoutMs: 20_000 }));
    await sleep(1_000);
    end();
    await sleep(1_000);
    process.kill(pid, 'SIGCONT');
    await expect(Promise.all(others)).resolves.toHaveLength(20);
    expect(new Set(await Promise.all(outcomes))).toEqual(new Set([expected]));
    await expect(client.getRoute(id)).resolves.toMatchObject({ id });
  }

  it.each([128, 1_000])('%i creates that one signal aborts while the service stands still', (count) =>
    standStill((client) => {
      const controller = new AbortController();
      const { signal } = controller;
      const outcomes = Array.from({ length: count }, () =>
        statusOf(client.createRoute(DEFINITION, { signal })),
      );
      return {
        expected: 'CANCELLED',
        outcomes,
        end: () => {
          controller.abort();
        },
      };
    }),
  );

  it('3,000 gets whose deadlines pass while the service stands still for two seconds', () =>
    standStill((client, id) => ({
      expected: 'DEADLINE_EXCEEDED',
      outcomes: Array.from({ length: 3_000 }, () => statusOf(client.getRoute(id, { timeoutMs: 1_000 }))),
      end: () => undefined,
    })));
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
        connection.send(RST_STREAM, 0, stream, number(CANCEL));
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
