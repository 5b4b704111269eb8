import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, onTestFinished } from 'vitest';
import { parseDatabaseUrl } from '../../src/settings/database-url.js';
import { openForMigrations } from '../../src/store/database.js';
import { KnexRouteStore } from '../../src/store/knex-route-store.js';
import { migrateUp, migrationStatus, MIGRATIONS } from '../../src/store/migrations.js';
import { buildFolder } from '../support/build-folder.js';
import { type Database, engines } from '../support/engines.js';
import { MountedFiles } from '../support/mounted-files.js';
import { startMysqlTlsFront } from '../support/mysql-tls-front.js';
import { describeOn, itOn } from '../support/needs.js';
import { Program } from '../support/process.js';
import { entryOf } from '../support/store-entries.js';
import { throughPort } from '../support/tcp-proxy.js';
import { authority, first } from '../support/tls-set.js';

const DIST = buildFolder();

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
    await expect(new KnexRouteStore(knex, { duplicates: 'reject' }).insert(entryOf())).resolves.toEqual({
      outcome: 'inserted',
    });
    await knex.destroy();
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

it('migrate up prints the usage, and fails', async () => {
  const { exitCode, stdout, stderr } = await new Program('migrate', ['up'], tmpdir(), { DATABASE_URL: 'x' })
    .ended;
  expect([exitCode, stdout, stderr.split(':')[0]]).toEqual([1, '', 'Usage']);
});
