import { credentials } from '@grpc/grpc-js';
import { expect, it } from 'vitest';
import { median } from '../../bench/load/percentile.js';
import { RouteServiceClient } from '../../src/gen/routing/v1/route_service.js';
import { needs } from '../support/needs.js';
import { create, metadataOf, tokenFor } from '../support/service.js';
import { figure } from './rig/figures.js';
import { peakMib, runLoad } from './rig/load-process.js';
import { scale } from './rig/scale.js';
import { startOnMysql } from './rig/service-process.js';

const ROUTE = { id: '', method: 'GET', path: '/', middleware: [], handler: 'h', createdAt: undefined };

it.each([8, 64])(
  'twice the gets that it can carry, over %d connections, cost at most a quarter',
  needs('server'),
  async (connections) => {
    const service = await startOnMysql();
    const client = new RouteServiceClient(service.grpc, credentials.createInsecure());
    const request = { route: ROUTE, requestId: '', validateOnly: false };
    const created = await Promise.all(
      Array.from({ length: 100 }, () => create(client, request, metadataOf(tokenFor()))),
    );
    client.close();
    const ids = created.map(({ route }) => route?.id ?? '');
    const load = { connections, ids, operation: 'get', durationMs: scale.loadMs } as const;
    await runLoad(service, { ...load, callers: 512 });
    const shares: number[] = [];
    for (let round = 0; round < scale.rounds; round++) {
      const { goodRate: peak } = await runLoad(service, { ...load, callers: 512 });
      const { result, mib } = await peakMib(service.pid, runLoad(service, { ...load, rate: 2 * peak }));
      shares.push(result.goodRate / peak);
      figure(`gets at 2 × peak over ${connections} connections`, {
        'peak/s': peak,
        'good/s': result.goodRate,
        'p99 of good ms': result.goodP99Ms,
        'RSS MiB': mib,
        ends: JSON.stringify(result.ends),
      });
    }
    expect(median(shares), `good gets as a share of the peak: ${String(shares)}`).toBeGreaterThanOrEqual(
      0.75,
    );
  },
);
