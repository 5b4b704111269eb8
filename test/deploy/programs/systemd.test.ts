import { execFile } from 'node:child_process';
import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, inject, it } from 'vitest';
import { readConfig } from '../../../src/settings/config.js';
import { SETTINGS } from '../../../src/settings/table.js';
import { needs, programPath } from '../../support/needs.js';
import { startOidcIssuer } from '../../support/oidc-issuer.js';
import type { Program } from '../../support/process.js';
import { createRouteOver, httpUrlOf, programsOfTest } from '../../support/program-fixture.js';
import { FREE_PORTS } from '../../support/service.js';

const run = promisify(execFile);
const FOLDER = resolve(import.meta.dirname, '../../../deploy/systemd');
const UNIT = 'route-registry@.service';
/** Of 100, as systemd-analyze counts. What remains is the network, and the executable memory of V8's compiler. */
const MOST_EXPOSURE = 12;

/** The values of a directive in the unit, in their order. */
async function directive(name: string): Promise<string[]> {
  const text = await readFile(join(FOLDER, UNIT), 'utf8');
  return [...text.matchAll(new RegExp(`^${name}=(.*)$`, 'gm'))].map(([, value = '']) => value);
}

/** The environment that the unit gives its program. */
async function environment(): Promise<Record<string, string>> {
  const pairs = (await directive('Environment')).flatMap((line) => line.split(' '));
  return Object.fromEntries(pairs.map((pair) => pair.split('=') as [string, string]));
}

describe('the unit', () => {
  it('passes systemd-analyze verify without a warning', needs('systemd-analyze'), async () => {
    const folder = await mkdtemp(join(inject('temporaryFolder'), 'systemd-'));
    const file = join(folder, UNIT);
    const text = await readFile(join(FOLDER, UNIT), 'utf8');
    // systemd-analyze checks that the program exists.
    await writeFile(file, text.replace('/usr/bin/node', process.execPath));
    const { stdout, stderr } = await run(programPath('systemd-analyze'), ['verify', file]);
    expect(`${stdout}${stderr}`).toBe('');
  });

  it('is hardened', needs('systemd-analyze'), async () => {
    const args = ['security', '--offline=true', `--threshold=${MOST_EXPOSURE}`, join(FOLDER, UNIT)];
    const { stdout } = await run(programPath('systemd-analyze'), args);
    expect(stdout).toMatch(/Overall exposure level for route-registry/);
    expect(stdout).not.toMatch(
      /✗ (?:NoNewPrivileges|ProtectSystem|PrivateDevices|CapabilityBoundingSet|SystemCallFilter)/,
    );
  });

  it('sets only settings of the service, and points them to all secrets that it loads', async () => {
    const { NODE_ENV, ...settings } = await environment();
    expect(NODE_ENV).toBe('production');
    for (const name of Object.keys(settings)) expect(Object.keys(SETTINGS)).toContain(name);
    const loaded = (await directive('LoadCredential')).map((line) => `%d/${line.split(':')[0] ?? ''}`);
    expect(Object.values(settings).filter((value) => value.startsWith('%d/'))).toEqual(loaded);
  });

  it('runs a program that the build produces', async () => {
    const [command = ''] = await directive('ExecStart');
    const program = /^\/usr\/bin\/node \/opt\/route-registry\/(dist\/\w+\.js)$/.exec(command)?.[1] ?? '';
    await expect(readFile(resolve(FOLDER, '../..', program))).resolves.toBeInstanceOf(Buffer);
  });

  it('lets V8 compile JavaScript', async () => {
    await expect(directive('MemoryDenyWriteExecute')).resolves.toEqual([]);
  });
});

/**
 * Starts the command of the unit as systemd would, on free ports and on an empty embedded database.
 *
 * @param files those in /etc/route-registry besides the URL of the database
 */
async function startUnit(files: Readonly<Record<string, string>>): Promise<Program> {
  const programs = programsOfTest();
  const set = (await directive('SetCredential')).map((line) => line.split(':') as [string, string]);
  const credentials = { ...Object.fromEntries(set), 'database-url': 'sqlite:routes.db', ...files };
  for (const [name, content] of Object.entries(credentials))
    await writeFile(join(programs.folder, name), content.replaceAll('\\n', '\n'));
  const own = Object.entries(await environment()).map(
    ([name, value]) => [name, value.replace('%d', programs.folder)] as const,
  );
  const [command = ''] = await directive('ExecStart');
  const program = /(\w+)\.js$/.exec(command)?.[1] ?? '';
  const settings = Object.fromEntries(
    (files['settings.env'] ?? '').split('\n').map((line) => line.split(/=(.*)/s) as [string, string]),
  );
  return programs.start(program, [], { ...Object.fromEntries(own), ...settings, ...FREE_PORTS });
}

describe('the command line of the unit', () => {
  it('starts the service with a secret', async () => {
    const secret = 'a secret of the tests, long enough for HS256';
    const parties = 'JWT_ISSUER=https://issuer.test\nJWT_AUDIENCE=route-registry';
    const program = await startUnit({ 'jwt-secret': secret, 'settings.env': parties });
    const url = await httpUrlOf(program);
    await expect(createRouteOver(url)).resolves.toHaveProperty('id');
  });

  it('starts the service with an issuer, without a secret', async () => {
    const { settings } = await startOidcIssuer();
    const lines = Object.entries(settings).map((pair) => pair.join('='));
    const program = await startUnit({ 'settings.env': ['JWT_SECRET_FILE=', ...lines].join('\n') });
    await httpUrlOf(program);
    await program.line('the key set has been fetched');
  });

  it('says what is missing where there is neither', async () => {
    const program = await startUnit({ 'settings.env': 'JWT_ISSUER=i\nJWT_AUDIENCE=a' });
    const { exitCode, stderr } = await program.ended;
    expect(exitCode).toBe(1);
    expect(stderr).toContain(
      'JWT_SECRET_FILE names a file that cannot be used. It must hold 1 to 16 secrets',
    );
  });
});

it('the unit gives the service enough time to stop', async () => {
  const { DRAIN_DELAY_MS } = await environment();
  const { drainDelayMs } = readConfig({ DRAIN_DELAY_MS });
  const [seconds] = await directive('TimeoutStopSec');
  expect(Number(seconds) * 1_000).toBeGreaterThanOrEqual(drainDelayMs + 10_000);
});

it('the steps of docs/operations.md install what every user can read, also under umask 077', async () => {
  const page = await readFile(resolve(FOLDER, '../../docs/operations.md'), 'utf8');
  const [, steps = ''] = /^npm ci && npm run build .*\n(.* \/opt\/route-registry\/?\n)/m.exec(page) ?? [];
  const folder = await mkdtemp(join(inject('temporaryFolder'), 'installed-'));
  const made =
    'umask 077; mkdir -p clone/dist clone/packages clone/node_modules clone/deploy clone/docs; cd clone';
  const files = 'echo {} > package.json; for each in */; do echo > $each/file; done';
  const copied = steps.replaceAll('/opt/', `${folder}/`);
  await run('bash', ['-euc', [made, files, copied].join('\n')], { cwd: folder });
  const { stdout } = await run('find', [join(folder, 'route-registry'), '!', '-perm', '-o+r']);
  expect(stdout).toBe('');
  await expect(readFile(join(folder, 'route-registry/dist/file'))).resolves.toHaveLength(1);
});
