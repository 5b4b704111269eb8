import { setTimeout as delay } from 'node:timers/promises';
import { expect, it, vi } from 'vitest';
import { watchHealth } from '../support/health-client.js';
import { runningService } from '../support/running-service.js';

/** The pause between checks of the store, in milliseconds. */
const CHECK_MS = 20;
/** Longer than several checks of the store and measurements of the load take, in milliseconds. */
const LONG_MS = 300;

it('a draining service does not return to SERVING, even though the store answers', async () => {
  const settings = { DRAIN_DELAY_MS: String(LONG_MS) };
  const service = await runningService({ settings, dependencies: { checkMs: CHECK_MS } });
  const statuses = watchHealth(service.grpcAddress);
  await expect.poll(() => statuses).toEqual(['SERVING']);
  const before = service.log.length;
  await service.close();
  expect(statuses).toEqual(['SERVING', 'NOT_SERVING']);
  expect(service.log.slice(before).map(({ msg }) => msg)).not.toContain('the store answers: serving');
});

it('a closed service sets no more timers', async () => {
  const service = await runningService({ dependencies: { checkMs: CHECK_MS } });
  await service.close();
  const setTimer = vi.spyOn(globalThis, 'setTimeout');
  await delay(LONG_MS);
  expect(setTimer).not.toHaveBeenCalled();
});
