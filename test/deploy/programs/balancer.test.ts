import { setTimeout as sleep } from 'node:timers/promises';
import { credentials } from '@grpc/grpc-js';
import { expect, it, onTestFinished } from 'vitest';
import { RouteServiceClient } from '../../../src/gen/routing/v1/route_service.js';
import { runHaproxy } from '../../faults/rig/haproxy.js';
import { databaseOnMysql, startProcess } from '../../faults/rig/service-process.js';
import { needs } from '../../support/needs.js';
import { get, metadataOf, tokenFor } from '../../support/service.js';
import { shippedInstances } from '../../support/shipped-instances.js';

/** Time for HAProxy to mark a server as up, in milliseconds: rise × inter, and a second. */
const SEEN_MS = 3_000;
const UNKNOWN_ID = '01a1f941-715b-7593-b057-19259d7b5bfc';

it(
  'HAProxy balances calls between two instances, and takes out a stopping one before any call fails',
  needs('server', 'haproxy'),
  async () => {
    const { configuration, grpc, http, instances } = await shippedInstances();
    const settings = { DATABASE_URL: await databaseOnMysql(), DRAIN_DELAY_MS: '2500' };
    const servers = await Promise.all(instances.map((own) => startProcess({ ...settings, ...own })));
    await runHaproxy(configuration, Number(grpc.split(':')[1]));
    const client = new RouteServiceClient(grpc, credentials.createInsecure());
    onTestFinished(() => {
      client.close();
    });
    await sleep(SEEN_MS);

    const headers = { authorization: `Bearer ${tokenFor()}` };
    const ends: string[] = [];
    const ask = async (): Promise<void> => {
      const [rest, grpc] = await Promise.all([
        fetch(`http://${http}/v1/routing/${UNKNOWN_ID}`, { headers }),
        get(client, UNKNOWN_ID, metadataOf(tokenFor())),
      ]);
      ends.push(`${rest.status} ${grpc.error?.code ?? 0}`);
    };
    for (let i = 0; i < 20; i++) await ask();
    const protocols = servers.map(({ program }) => new Set(program.lines().map(({ protocol }) => protocol)));
    expect(protocols).toEqual([new Set([undefined, 'rest', 'grpc']), new Set([undefined, 'rest', 'grpc'])]);

    const stopping = servers[0]?.program.stop();
    const stopped = new AbortController();
    void stopping?.then(() => {
      stopped.abort();
    });
    while (!stopped.signal.aborted) await ask();
    await expect(stopping).resolves.toMatchObject({ exitCode: 0 });
    for (let i = 0; i < 20; i++) await ask();
    // NOT_FOUND over both protocols: the route does not exist.
    expect(new Set(ends)).toEqual(new Set(['404 5']));
  },
);
