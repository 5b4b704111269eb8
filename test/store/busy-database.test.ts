import { expect, it, onTestFinished } from 'vitest';
import { engines } from '../support/engines.js';
import { openStore } from '../support/open-store.js';
import { entryOf } from '../support/store-entries.js';

it('a create is committed even after an earlier one found the embedded database busy', async () => {
  const { knex, store, connect, close } = await openStore(engines[0]);
  onTestFinished(close);
  const other = connect();
  await knex.raw('PRAGMA busy_timeout = 0');
  await other.raw('BEGIN IMMEDIATE');
  await expect(store.insert(entryOf(), 'allow')).rejects.toMatchObject({ reason: 'STORE_UNAVAILABLE' });
  await other.raw('COMMIT');
  await expect(store.insert(entryOf(), 'allow')).resolves.toEqual({ outcome: 'inserted' });
  await expect(other('routes').count({ count: '*' })).resolves.toEqual([{ count: 1 }]);
});
