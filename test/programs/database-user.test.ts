import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { resolve } from 'node:path';
import { expect } from 'vitest';
import { parseDatabaseUrl } from '../../src/settings/database-url.js';
import { openForCalls, openForMigrations } from '../../src/store/database.js';
import { KnexRouteStore } from '../../src/store/knex-route-store.js';
import { ensureSchema, MIGRATIONS } from '../../src/store/migrations.js';
import { engines } from '../support/engines.js';
import { itOn } from '../support/needs.js';
import { CALL_TIMES } from '../support/open-store.js';
import { Program } from '../support/process.js';
import { entryOf } from '../support/store-entries.js';

const OPERATIONS = readFileSync(resolve(import.meta.dirname, '../../docs/operations.md'), 'utf8');
const STATEMENTS = (/```sql\n([^]*?)```/.exec(OPERATIONS)?.[1] ?? '').trim().split('\n');

itOn(engines.slice(1))(
  'the database user from docs/operations.md can migrate, create and count on $name',
  async (engine) => {
    const database = await engine.createDatabase();
    const knex = openForMigrations(parseDatabaseUrl(database.url));
    const url = new URL(database.url);
    const name = `${url.pathname.slice(1)}_r`.slice(-32);
    const quoted = `'${name}'@'%'`;
    for (const statement of STATEMENTS) await knex.raw(statement.replaceAll('routes', name));
    Object.assign(url, { username: name, password: 'password', pathname: `/${name}` });
    const outcomes: string[] = [];
    for (const args of [[], ['--count-duplicates']]) {
      const ended = await new Program('migrate', args, tmpdir(), { DATABASE_URL: url.href }).ended;
      outcomes.push(ended.stderr + ended.stdout);
    }
    const own = openForCalls(parseDatabaseUrl(url.href), CALL_TIMES);
    await ensureSchema(own);
    const created = await new KnexRouteStore(own, { duplicates: 'allow' }).insert(entryOf());
    await own.destroy();
    await knex.raw(`DROP USER ${quoted}`);
    await knex.raw(`DROP DATABASE ${name}`);
    await knex.destroy();
    await database.drop();
    expect(outcomes).toEqual([MIGRATIONS.map(({ name }) => `applied ${name}\n`).join(''), 'nothing to do\n']);
    expect(created).toEqual({ outcome: 'inserted' });
  },
);
