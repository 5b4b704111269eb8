import { expect, onTestFinished } from 'vitest';
import { migrateUp } from '../../src/store/migrations.js';
import { engines } from '../support/engines.js';
import { NEXT } from '../support/later-schemas.js';
import { itOn } from '../support/needs.js';
import { openEmpty } from '../support/open-store.js';
import { post, requestOf } from '../support/requests.js';
import { create, get, metadataOf, type Service, startService, tokenFor } from '../support/service.js';

/** Creates over each protocol and gets over the other; returns the statuses. */
async function use(service: Service): Promise<string> {
  const metadata = metadataOf(tokenFor());
  const { route } = await create(service.client, requestOf(), metadata);
  const headers = { authorization: `Bearer ${tokenFor()}` };
  const found = await fetch(`${service.httpUrl}/v1/routing/${route?.id ?? ''}`, { headers });
  const created = await post(service);
  const { id = '' } = (await created.json()) as { id?: string };
  const { error } = await get(service.client, id, metadata);
  return `${found.status} ${created.status} ${error?.code ?? 0}`;
}

itOn(engines)(
  'a service keeps working while the next version migrates, and starts again afterwards: $name',
  async (engine) => {
    const { url: databaseUrl, knex, close } = await openEmpty(engine);
    onTestFinished(close);
    const service = await startService({ databaseUrl });
    const ends = new Set([await use(service)]);
    const migrating = migrateUp(knex, NEXT);
    ends.add(await use(service));
    await migrating;
    ends.add(await use(service));
    await service.close();
    const again = await startService({ databaseUrl });
    ends.add(await use(again));
    await again.close();
    expect(ends).toEqual(new Set(['200 201 0']));
  },
);
