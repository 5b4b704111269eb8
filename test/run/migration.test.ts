import type { Knex } from 'knex';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { runMigration } from '../../src/run/migration.js';
import { parseDatabaseUrl } from '../../src/settings/database-url.js';
import { openForMigrations } from '../../src/store/database.js';
import { KnexRouteStore } from '../../src/store/knex-route-store.js';
import { migrateUp, migrationStatus, MIGRATIONS } from '../../src/store/migrations.js';
import { type Database, engines } from '../support/engines.js';
import { describeOn } from '../support/needs.js';
import { entryOf } from '../support/store-entries.js';

const NAMES = MIGRATIONS.map(({ name }) => name);
const NEWEST = String(NAMES.at(-1));

/** Runs the program to its end. */
async function migration(args: readonly string[], databaseUrl: string) {
  let [stdout, stderr] = ['', ''];
  const exitCode = await runMigration(
    args,
    { DATABASE_URL: databaseUrl },
    { stdout: { write: (text) => (stdout += text) }, stderr: { write: (text) => (stderr += text) } },
  );
  return { exitCode, stdout, stderr };
}

describeOn(engines)('a rollback on $name', (engine) => {
  let database: Database;
  let knex: Knex;

  beforeEach(async () => {
    database = await engine.createDatabase();
    knex = openForMigrations(parseDatabaseUrl(database.url));
    await migrateUp(knex);
  });

  afterEach(async () => {
    await knex.destroy();
    await database.drop();
  });

  const migrate = (...args: string[]) => migration(args, database.url);
  const said = (stdout: string) => ({ exitCode: 0, stdout: `${stdout}\n`, stderr: '' });
  const refused = (stderr: string) => ({ exitCode: 1, stdout: '', stderr: `${stderr}\n` });

  it('of a name, repeated, is that of one migration', async () => {
    await expect(migrate('--down', NEWEST)).resolves.toEqual(said(`rolled back ${NEWEST}`));
    await expect(migrate('--down', NEWEST)).resolves.toEqual(said('nothing to do'));
    await expect(migrationStatus(knex)).resolves.toMatchObject({ pending: [NEWEST] });
  });

  it('is refused for a name that no migration has, and for one that is not the newest', async () => {
    await expect(migrate('--down', '0003')).resolves.toEqual(
      refused(`"0003" is no migration of this version, which has ${NAMES.join(', ')}.`),
    );
    await expect(migrate('--down', '0001-routes', '--force')).resolves.toEqual(
      refused(`0001-routes is not the newest migration. Roll ${NEWEST} back first.`),
    );
    await expect(migrationStatus(knex)).resolves.toMatchObject({ pending: [] });
  });

  it('drops a table with rows only with --force, which is refused for migrations that drop nothing', async () => {
    await new KnexRouteStore(knex).insert(entryOf(), 'allow');
    const [first = '', ...later] = NAMES;
    for (const name of later.reverse()) {
      await expect(migrate('--down', name, '--force')).resolves.toEqual(
        refused(`Rolling ${name} back drops no table. Leave out --force.`),
      );
      await expect(migrate('--down', name)).resolves.toMatchObject({ exitCode: 0 });
    }
    await expect(migrate('--down', first)).resolves.toEqual(
      refused(
        'Rolling 0001-routes back drops the table routes, which has rows. Back it up, then repeat this with --force.',
      ),
    );
    await expect(knex('routes').pluck('handler')).resolves.toHaveLength(1);
    await expect(migrate('--down', first, '--force')).resolves.toEqual(said(`rolled back ${first}`));
    await expect(knex.schema.hasTable('routes')).resolves.toBe(false);
    await expect(migrate('--down', first, '--force')).resolves.toEqual(said('nothing to do'));
  });

  it('reads paths again, and then has nothing to do', async () => {
    await new KnexRouteStore(knex).insert(entryOf({ path: '/a:b' }, { shape: 'GET /a:b' }), 'allow');
    await expect(migrate('--reread-paths')).resolves.toEqual(said('changed shapes: 1'));
    await expect(migrate('--reread-paths')).resolves.toEqual(said('nothing to do'));
  });
});

const USAGE =
  /^Usage: node dist\/migrate\.js \[--status \| --reread-paths \| --down NAME \[--force\] \| --help\]\n/;

it('migrate --help prints the usage without opening the database', async () => {
  const ended = await migration(['--help'], 'x');
  expect(ended).toEqual({ exitCode: 0, stdout: expect.stringMatching(USAGE) as string, stderr: '' });
});

it.each([
  ['--down'],
  ['--down', '--force'],
  ['--down', 'a', '--down', 'b'],
  ['--force'],
  ['--status', '--force'],
  ['--reread-paths', '--down', 'a'],
  ['--dwon'],
  ['up'],
])('migrate %s %s prints the usage, and fails', async (...args) => {
  const ended = await migration(args, 'x');
  expect(ended).toEqual({ exitCode: 1, stdout: '', stderr: expect.stringMatching(USAGE) as string });
});
