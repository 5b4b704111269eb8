import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Knex } from 'knex';
import { afterEach, beforeEach, expect, it, onTestFinished } from 'vitest';
import { parseDatabaseUrl } from '../../src/settings/database-url.js';
import { openForMigrations } from '../../src/store/database.js';
import { KnexRouteStore } from '../../src/store/knex-route-store.js';
import { migrateUp, migrationStatus, MIGRATIONS } from '../../src/store/migrations.js';
import { built } from '../support/built.js';
import { type Database, engines } from '../support/engines.js';
import { MountedFiles } from '../support/mounted-files.js';
import { startMysqlTlsFront } from '../support/mysql-tls-front.js';
import { describeOn, itOn } from '../support/needs.js';
import { Program } from '../support/process.js';
import { entryOf } from '../support/store-entries.js';
import { throughPort } from '../support/tcp-proxy.js';
import { authority, first } from '../support/tls-set.js';

const DIST = built();
const NAMES = MIGRATIONS.map(({ name }) => name);
const NEWEST = String(NAMES.at(-1));

/** A program that migrates, and kills itself instead of sending the given statement. */
const KILLED = `
  const [url, statement] = process.argv.slice(1);
  const { parseDatabaseUrl } = await import('${DIST}/settings/database-url.js');
  const { openForMigrations } = await import('${DIST}/store/database.js');
  const { migrateUp } = await import('${DIST}/store/migrations.js');
  const knex = openForMigrations(parseDatabaseUrl(url));
  let sent = 0;
  knex.on('query', () => {
    if (++sent === Number(statement)) process.kill(process.pid, 'SIGKILL');
  });
  await migrateUp(knex);
  await knex.destroy();
`;

/** Starts a migration that kills itself at this statement, and returns the signal that ended it. */
async function killedAt(url: string, statement: number): Promise<NodeJS.Signals | null> {
  const args = ['--input-type=module', '--eval', KILLED, url, String(statement)];
  const child = spawn(process.execPath, args, { stdio: 'inherit' });
  const [, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null];
  return signal;
}

describeOn(engines)('on $name', (engine) => {
  let database: Database;
  let folder: string;

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'route-registry-'));
    database = await engine.createDatabase();
  });

  afterEach(async () => {
    await database.drop();
    rmSync(folder, { recursive: true });
  });

  it('five processes that migrate an empty database at once all succeed, and only one applies the migrations', async () => {
    const programs = Array.from(
      { length: 5 },
      () => new Program('migrate', [], folder, { DATABASE_URL: database.url }),
    );
    const ended = await Promise.all(programs.map((program) => program.ended));
    expect(ended.map(({ exitCode, stderr }) => ({ exitCode, stderr }))).toEqual(
      programs.map(() => ({ exitCode: 0, stderr: '' })),
    );
    expect(ended.map(({ stdout }) => stdout).sort()).toEqual([
      MIGRATIONS.map(({ name }) => `applied ${name}\n`).join(''),
      ...Array.from({ length: 4 }, () => 'nothing to do\n'),
    ]);
  });

  it('a migration that is killed midway is completed by the next run', async () => {
    await expect(killedAt(database.url, 10)).resolves.toBe('SIGKILL');
    const knex = openForMigrations(parseDatabaseUrl(database.url));
    const { pending } = await migrationStatus(knex);
    expect(pending).not.toEqual([]);
    await expect(migrateUp(knex)).resolves.toEqual(pending);
    await expect(new KnexRouteStore(knex).insert(entryOf(), 'reject')).resolves.toEqual({
      outcome: 'inserted',
    });
    await knex.destroy();
  });
});

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

  const migrate = (...args: string[]) =>
    new Program('migrate', args, tmpdir(), { DATABASE_URL: database.url }).ended;
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

itOn(engines.slice(1))(
  'a migration of $name trusts the authorities of Node without ssl-ca',
  async (engine) => {
    const database = await engine.createDatabase();
    onTestFinished(() => database.drop());
    const front = await startMysqlTlsFront(Number(new URL(database.url).port), { ...first });
    const files = new MountedFiles({ ca: authority.cert });
    const url = new URL(throughPort(database.url, front.port));
    url.hostname = 'localhost';
    url.searchParams.set('ssl-mode', 'VERIFY_IDENTITY');
    const status = (settings: Record<string, string>) =>
      new Program('migrate', ['--status'], tmpdir(), { DATABASE_URL: url.href, ...settings }).ended;
    await expect(status({})).resolves.toMatchObject({ exitCode: 1, stdout: '' });
    expect(front.logins()).toBe(0);
    await expect(status({ NODE_EXTRA_CA_CERTS: files.path('ca') })).resolves.toMatchObject({ exitCode: 0 });
  },
);

const USAGE =
  /^Usage: node dist\/migrate\.js \[--status \| --reread-paths \| --down NAME \[--force\] \| --help\]\n/;

it('migrate --help prints the usage without opening the database', async () => {
  const ended = await new Program('migrate', ['--help'], tmpdir(), { DATABASE_URL: 'x' }).ended;
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
  const ended = await new Program('migrate', args, tmpdir(), { DATABASE_URL: 'x' }).ended;
  expect(ended).toEqual({ exitCode: 1, stdout: '', stderr: expect.stringMatching(USAGE) as string });
});
