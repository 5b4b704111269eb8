import { setTimeout as delay } from 'node:timers/promises';
import { credentials } from '@grpc/grpc-js';
import { expect, it, onTestFinished, vi } from 'vitest';
import {
  HealthClient,
  type HealthCheckResponse,
  HealthCheckResponse_ServingStatus,
} from '../../src/gen/healthcheck.js';
import { startService } from '../support/service.js';

it('while the service drains, it does not serve again, however well the store answers', async () => {
  // Longer than the interval between pings of the store.
  const settings = { DRAIN_DELAY_MS: '2500' };
  const service = await startService({ databaseUrl: 'sqlite::memory:', settings });
  const health = new HealthClient(service.grpcAddress, credentials.createInsecure());
  onTestFinished(() => {
    health.close();
  });
  const statuses: string[] = [];
  health
    .watch({ service: '' })
    .on('data', ({ status }: HealthCheckResponse) => statuses.push(HealthCheckResponse_ServingStatus[status]))
    .on('error', () => undefined);
  await expect.poll(() => statuses).toEqual(['SERVING']);
  const before = service.log.length;
  await service.close();
  expect(statuses).toEqual(['SERVING', 'NOT_SERVING']);
  expect(service.log.slice(before).map(({ msg }) => msg)).not.toContain('the store answers: serving');
});

it('once the service is closed, it sets no timer any more', async () => {
  const service = await startService({ databaseUrl: 'sqlite::memory:' });
  await service.close();
  const setTimer = vi.spyOn(globalThis, 'setTimeout');
  // Longer than the intervals between pings of the store, and between measurements of the load.
  await delay(2_500);
  expect(setTimer).not.toHaveBeenCalled();
});
