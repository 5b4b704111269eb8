import { setTimeout as sleep } from 'node:timers/promises';
import { type RouteClient, RouteClientError } from '@route-registry/client';
import { stringify } from 'uuid';
import { expect, it, onTestFinished } from 'vitest';
import { DEFINITION, failureOf } from '../../packages/client/test/support/test-client.js';
import { query } from './rig/database-server.js';
import { databaseOnMysql, type ServiceProcess, startProcess } from './rig/service-process.js';
import { needs } from '../support/needs.js';
import { startTcpProxy } from '../support/tcp-proxy.js';
import { routeClient } from '../client/route-client.js';

/** The failures after which a create may have been stored. */
const OPEN = new Set(['UNAVAILABLE', 'DEADLINE_EXCEEDED', 'CANCELLED', 'INTERNAL']);

/** Creates a route; retries with the same request id until the create is acknowledged. */
async function createSurely(client: RouteClient, requestId: string): Promise<string> {
  for (;;) {
    try {
      return (await client.createRoute(DEFINITION, { requestId })).id;
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
    // The client does not retry a call whose response has begun; a caller may, with the same request id.
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
