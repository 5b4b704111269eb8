import { expect, onTestFinished } from 'vitest';
import { readDatabase } from '../../src/settings/config.js';
import { openDatabase } from '../../src/store/database.js';
import { migrateUp } from '../../src/store/migrations.js';
import { NEXT } from '../support/later-schemas.js';
import { itOn } from '../support/needs.js';
import { create, get, metadataOf, type Service, startService, tokenFor } from '../support/service.js';
import { setups } from '../support/setups.js';

const DEFINITION = { method: 'GET', path: '/users/:id', middleware: [] as string[], handler: 'h' };

/** Creates over one face and gets over the other, and returns how that ended. */
async function use({ client, httpUrl }: Service): Promise<string> {
  const metadata = metadataOf(tokenFor());
  const headers = { authorization: `Bearer ${tokenFor()}`, 'content-type': 'application/json' };
  const request = {
    route: { ...DEFINITION, id: '', createdAt: undefined },
    requestId: '',
    validateOnly: false,
  };
  const { route } = await create(client, request, metadata);
  const found = await fetch(`${httpUrl}/v1/routing/${route?.id ?? ''}`, { headers });
  const created = await fetch(`${httpUrl}/v1/routing`, {
    method: 'POST',
    headers,
    body: JSON.stringify(DEFINITION),
  });
  const { id = '' } = (await created.json()) as { id?: string };
  const { error } = await get(client, id, metadata);
  return `${found.status} ${created.status} ${error?.code ?? 0}`;
}

itOn(setups)(
  'a service goes on while the next version migrates, and starts anew after it: $name',
  async (setup) => {
    const database = await setup.engine.createDatabase();
    onTestFinished(() => database.drop());
    const options = { databaseUrl: database.url, topology: setup.topology };
    const service = await startService(options);
    const ends = new Set([await use(service)]);
    const knex = openDatabase(readDatabase({ DATABASE_URL: database.url }));
    const migrating = migrateUp(knex, NEXT);
    ends.add(await use(service));
    await migrating;
    await knex.destroy();
    ends.add(await use(service));
    await service.close();
    const again = await startService(options);
    ends.add(await use(again));
    await again.close();
    expect(ends).toEqual(new Set(['200 201 0']));
  },
);
