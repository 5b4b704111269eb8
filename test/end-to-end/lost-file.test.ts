import { rmSync } from 'node:fs';
import { expect, it, onTestFinished } from 'vitest';
import { engines } from '../support/engines.js';
import { healthOf, post } from '../support/requests.js';
import { runningService } from '../support/running-service.js';

it('creates are refused and the health is not serving once the file of the embedded database is deleted', async () => {
  const database = await engines[0].createDatabase();
  onTestFinished(() => database.drop());
  const service = await runningService({ databaseUrl: database.url, dependencies: { checkMs: 20 } });
  await expect(post(service)).resolves.toMatchObject({ status: 201 });
  await expect(healthOf(service)).resolves.toBe(200);
  rmSync(database.url.replace('sqlite:', ''));
  await expect(post(service)).resolves.toMatchObject({ status: 503 });
  await expect.poll(() => healthOf(service)).toBe(503);
});
