import { setTimeout as delay } from 'node:timers/promises';
import { expect, it, vi } from 'vitest';
import { startService } from '../support/service.js';

it('while the service drains, the log does not report serving', async () => {
  // Longer than the interval between pings of the store.
  const settings = { DRAIN_DELAY_MS: '2500' };
  const service = await startService({ databaseUrl: 'sqlite::memory:', settings });
  const before = service.log.length;
  await service.close();
  expect(service.log.slice(before).map(({ msg }) => msg)).not.toContain('the store answers: serving');
});

it('once the service is closed, it sets no timer any more', async () => {
  const service = await startService({ databaseUrl: 'sqlite::memory:' });
  await service.close();
  const setTimer = vi.spyOn(globalThis, 'setTimeout');
  // Several times the interval between two measurements of the load.
  await delay(500);
  expect(setTimer).not.toHaveBeenCalled();
});
