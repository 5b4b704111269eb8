import { expect, it } from 'vitest';
import { startService } from '../support/service.js';

it('while the service drains, the log does not report serving', async () => {
  // Longer than the interval between pings of the store.
  const settings = { DRAIN_DELAY_MS: '2500' };
  const service = await startService({ databaseUrl: 'sqlite::memory:', settings });
  const before = service.log.length;
  await service.close();
  expect(service.log.slice(before).map(({ msg }) => msg)).not.toContain('the store answers: serving');
});
