import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { resolve } from 'node:path';
import { expect } from 'vitest';
import { parseDatabaseUrl } from '../../src/settings/database-url.js';
import { openForMigrations } from '../../src/store/database.js';
import { MIGRATIONS } from '../../src/store/migrations.js';
import { engines } from '../support/engines.js';
import { itOn } from '../support/needs.js';
import { Program } from '../support/process.js';

const OPERATIONS = readFileSync(resolve(import.meta.dirname, '../../docs/operations.md'), 'utf8');
const STATEMENTS = (/```sql\n([^]*?)```/.exec(OPERATIONS)?.[1] ?? '').trim().split('\n');

itOn(engines.slice(1))(
  'the database user from docs/operations.md can migrate up and down on $name',
  async (engine) => {
    const database = await engine.createDatabase();
    const knex = openForMigrations(parseDatabaseUrl(database.url));
    const url = new URL(database.url);
    const name = `${url.pathname.slice(1)}_r`.slice(-32);
    const quoted = `'${name}'@'%'`;
    for (const statement of STATEMENTS) await knex.raw(statement.replaceAll('routes', name));
    Object.assign(url, { username: name, password: 'password', pathname: `/${name}` });
    const outcomes: string[] = [];
    const downs = MIGRATIONS.map(({ name }) => ['--down', name]).reverse();
    for (const args of [[], ...downs, []]) {
      const ended = await new Program('migrate', args, tmpdir(), { DATABASE_URL: url.href }).ended;
      outcomes.push(ended.stderr + ended.stdout.replaceAll(/ .*/g, ''));
    }
    await knex.raw(`DROP USER ${quoted}`);
    await knex.raw(`DROP DATABASE ${name}`);
    await knex.destroy();
    await database.drop();
    const applied = 'applied\n'.repeat(downs.length);
    expect(outcomes).toEqual([applied, ...downs.map(() => 'rolled\n'), applied]);
  },
);
