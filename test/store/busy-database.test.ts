import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { expect, inject, it } from 'vitest';
import { openDatabase } from '../../src/store/database.js';
import { KnexRouteStore } from '../../src/store/knex-route-store.js';
import { migrateUp } from '../../src/store/migrations.js';
import { entryOf } from '../support/store-entries.js';

it('a create that is acknowledged after one that found the embedded database busy is committed', async () => {
  const file = join(mkdtempSync(join(inject('temporaryFolder'), 'busy-')), 'routes.db');
  const ours = openDatabase({ engine: 'sqlite', file });
  const theirs = openDatabase({ engine: 'sqlite', file });
  await migrateUp(ours);
  const store = new KnexRouteStore(ours);
  await theirs.raw('BEGIN IMMEDIATE');
  await expect(store.insert(entryOf(), 'allow')).rejects.toMatchObject({ reason: 'STORE_UNAVAILABLE' });
  await theirs.raw('COMMIT');
  await expect(store.insert(entryOf(), 'allow')).resolves.toEqual({ outcome: 'inserted' });
  await expect(theirs('routes').count({ count: '*' })).resolves.toEqual([{ count: 1 }]);
  await ours.destroy();
  await theirs.destroy();
});
