import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { expect, inject, it, onTestFinished } from 'vitest';
import { parseDatabaseUrl } from '../../src/settings/database-url.js';
import { openForMigrations } from '../../src/store/database.js';
import { readMetrics, sumOf } from '../support/metric-text.js';
import { post, requestOf } from '../support/requests.js';
import { runningService } from '../support/running-service.js';
import { create, metadataOf, tokenFor } from '../support/service.js';

it.each([
  ['MAX_CALLS', '1'],
  // One caller may have half of the calls that wait.
  ['MAX_WAITING_CALLS', '2'],
])('%s holds for both protocols together', async (limit, most) => {
  const file = join(mkdtempSync(join(inject('temporaryFolder'), 'limits-')), 'routes.db');
  const databaseUrl = `sqlite:${file}`;
  const service = await runningService({ databaseUrl, settings: { [limit]: most } });
  const writer = openForMigrations(parseDatabaseUrl(databaseUrl));
  onTestFinished(() => writer.destroy());

  await writer.raw('BEGIN IMMEDIATE');
  const waiting = create(service.client, requestOf(), metadataOf(tokenFor()));
  await expect
    .poll(async () => {
      const metrics = readMetrics(await (await fetch(`${service.opsUrls[0] ?? ''}/metrics`)).text());
      return sumOf(metrics, 'grpc_server_active_calls', { grpc_method: 'CreateRoute' });
    })
    .toBe(1);
  expect((await post(service)).status).toBe(429);
  await writer.raw('COMMIT');
  expect((await waiting).error).toBeUndefined();
});
