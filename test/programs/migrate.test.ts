import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { parseDatabaseUrl } from '../../src/settings/database-url.js';
import { openForMigrations } from '../../src/store/database.js';
import { KnexRouteStore } from '../../src/store/knex-route-store.js';
import { migrateUp, migrationStatus, MIGRATIONS } from '../../src/store/migrations.js';
import { built } from '../support/built.js';
import { type Database, engines } from '../support/engines.js';
import { describeOn } from '../support/needs.js';
import { Program } from '../support/process.js';
import { entryOf } from '../support/store-entries.js';

const DIST = built();

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

it('migrate --help prints the usage without opening the database', async () => {
  const { exitCode, stdout, stderr } = await new Program('migrate', ['--help'], tmpdir(), {
    DATABASE_URL: 'x',
  }).ended;
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
  expect(stdout).toMatch(/^Usage: node dist\/migrate\.js \[--down \| --status \| --help\]\n/);
});
