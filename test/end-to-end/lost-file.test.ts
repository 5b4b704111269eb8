import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, inject, it, onTestFinished } from 'vitest';
import { startService, tokenFor } from '../support/service.js';

it('creates are refused and the health is not serving once the file of the embedded database is deleted', async () => {
  const file = join(mkdtempSync(join(inject('temporaryFolder'), 'lost-')), 'routes.db');
  const service = await startService({ databaseUrl: `sqlite:${file}` });
  onTestFinished(() => service.close());
  const create = async (): Promise<number> => {
    const response = await fetch(`${service.httpUrl}/v1/routing`, {
      method: 'POST',
      headers: { authorization: `Bearer ${tokenFor()}`, 'content-type': 'application/json' },
      body: JSON.stringify({ method: 'GET', path: '/', handler: 'h' }),
    });
    return response.status;
  };
  const health = async (): Promise<number> => (await fetch(`${service.httpUrl}/healthz`)).status;
  await expect(create()).resolves.toBe(201);
  await expect(health()).resolves.toBe(200);
  rmSync(file);
  await expect(create()).resolves.toBe(503);
  await expect.poll(health, { timeout: 8_000 }).toBe(503);
});
