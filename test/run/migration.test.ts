import { spawnSync } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { expect, inject, it, onTestFinished } from 'vitest';
import { runMigration } from '../../src/run/migration.js';
import { buildFolder } from '../support/build-folder.js';
import { engines } from '../support/engines.js';
import { describeOn } from '../support/needs.js';
import { openStore } from '../support/open-store.js';
import { entryOf } from '../support/store-entries.js';

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

describeOn(engines)('on $name', (engine) => {
  it('routes that were stored with DUPLICATE_ROUTES=allow count as duplicates after --count-duplicates', async () => {
    const { url, store, strict, close } = await openStore(engine);
    onTestFinished(close);
    const first = entryOf({ path: '/counted/:id' });
    await store.insert(first);
    const count = () => migration(['--count-duplicates'], url);
    await expect(count()).resolves.toEqual({ exitCode: 0, stdout: 'counted routes: 1\n', stderr: '' });
    await expect(count()).resolves.toEqual({ exitCode: 0, stdout: 'nothing to do\n', stderr: '' });
    const duplicate = { outcome: 'duplicate', id: first.route.id };
    await expect(strict.insert(entryOf({ path: '/counted/:key' }))).resolves.toEqual(duplicate);
  });
});

const USAGE = /^Usage: node dist\/migrate\.js \[--status \| --count-duplicates \| --help\]\n/;

it('a full disk is named in a sentence with the setting, and without SQL', () => {
  const folder = mkdtempSync(join(inject('temporaryFolder'), 'full-'));
  const command = `ulimit -f 8; exec ${process.execPath} ${buildFolder()}/migrate.js`;
  const env = { DATABASE_URL: `sqlite:${folder}/routes.db` };
  const { status, stdout, stderr } = spawnSync('sh', ['-c', command], { env, encoding: 'utf8' });
  expect([status, stdout]).toEqual([1, '']);
  expect(stderr).toMatch(/^The database named by DATABASE_URL cannot be used: (?:disk|database)[\w /]+\n$/);
});

it('migrate --help prints the usage without opening the database', async () => {
  const ended = await migration(['--help'], 'x');
  expect(ended).toEqual({ exitCode: 0, stdout: expect.stringMatching(USAGE) as string, stderr: '' });
});

it.each([['--status', '--count-duplicates'], ['--stauts'], ['up']])(
  'migrate %s %s prints the usage, and fails',
  async (...args) => {
    const ended = await migration(args, 'x');
    expect(ended).toEqual({ exitCode: 1, stdout: '', stderr: expect.stringMatching(USAGE) as string });
  },
);
