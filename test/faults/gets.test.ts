import { credentials, status } from '@grpc/grpc-js';
import { expect, it } from 'vitest';
import { RouteServiceClient } from '../../src/gen/routing/v1/route_service.js';
import { needs } from '../support/needs.js';
import { create, metadataOf, tokenFor } from '../support/service.js';
import { figure } from './rig/figures.js';
import { peakMib, runLoad } from './rig/load-process.js';
import { scale } from './rig/scale.js';
import { startOnMysql } from './rig/service-process.js';

/**
 * The most memory that an overloaded service may take, in MiB: half of what the manifests give it. From Node 24, V8 lets
 * garbage take some 100 MiB more if the machine has them.
 */
const MEMORY_MIB = 600;
const ROUTE = { id: '', method: 'GET', path: '/', middleware: [], handler: 'h', createdAt: undefined };

it(
  'at twice its capacity of gets, over 64 connections, the service answers every call that gets a stream',
  needs('server'),
  async () => {
    const service = await startOnMysql();
    const client = new RouteServiceClient(service.grpc, credentials.createInsecure());
    const request = { route: ROUTE, requestId: '', validateOnly: false };
    const created = await Promise.all(
      Array.from({ length: 100 }, () => create(client, request, metadataOf(tokenFor()))),
    );
    client.close();
    const ids = created.map(({ route }) => route?.id ?? '');
    const load = { connections: 64, ids, operation: 'get', durationMs: scale.loadMs } as const;
    await runLoad(service, { ...load, callers: 512 });
    const { goodRate: peak } = await runLoad(service, { ...load, callers: 512 });
    const { result, mib } = await peakMib(service.pid, runLoad(service, { ...load, rate: 2 * peak }));
    const measured = {
      'peak/s': peak,
      'good/s': result.goodRate,
      'p99 of good ms': result.goodP99Ms,
      'RSS MiB': mib,
      ends: JSON.stringify(result.ends),
    };
    figure('gets at 2 × peak over 64 connections', measured);
    const says = JSON.stringify(measured);
    expect.soft(result.ends, says).toEqual({ [status.OK]: result.sent });
    expect.soft(measured['p99 of good ms'], says).toBeLessThan(1_000);
    expect.soft(mib, says).toBeLessThan(MEMORY_MIB);
  },
);
