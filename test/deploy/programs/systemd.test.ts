import { execFile } from 'node:child_process';
import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, inject, it } from 'vitest';
import { readConfig } from '../../../src/settings/config.js';
import { SETTINGS } from '../../../src/settings/reader.js';
import { needs, programPath } from '../../support/needs.js';
import { startOidcIssuer } from '../../support/oidc-issuer.js';
import type { Program } from '../../support/process.js';
import { created, httpUrlOf, programsOfTest } from '../../support/program-fixture.js';
import { FREE_PORTS } from '../../support/service.js';

const run = promisify(execFile);
const FOLDER = resolve(import.meta.dirname, '../../../deploy/systemd');
const SERVICE = 'route-registry.service';
const INSTANCE = 'route-registry@.service';
const UNITS = [SERVICE, INSTANCE, 'route-registry-migrate.service'];
/** Of 100, as systemd-analyze counts. What remains is the network, and the executable memory of V8's compiler. */
const MOST_EXPOSURE = 12;
/** The lines of a unit that restrict it, or name its user and its folders. */
const RESTRICTION =
  /^(?:User|DynamicUser|State|Working|UMask|Protect|Private|Proc|Restrict|System|Capab|NoNew|Lock|Key|Device)/;

/** The values of a directive in a unit, in their order. */
async function directive(unit: string, name: string): Promise<string[]> {
  const text = await readFile(join(FOLDER, unit), 'utf8');
  return [...text.matchAll(new RegExp(`^${name}=(.*)$`, 'gm'))].map(([, value = '']) => value);
}

/** The environment that a unit gives its program. */
async function environmentOf(unit: string): Promise<Record<string, string>> {
  const pairs = (await directive(unit, 'Environment')).flatMap((line) => line.split(' '));
  return Object.fromEntries(pairs.map((pair) => pair.split('=') as [string, string]));
}

describe.each(UNITS)('%s', (unit) => {
  it('passes systemd-analyze verify without a warning', needs('systemd-analyze'), async () => {
    const folder = await mkdtemp(join(inject('temporaryFolder'), 'systemd-'));
    const file = join(folder, unit);
    const text = await readFile(join(FOLDER, unit), 'utf8');
    // systemd-analyze checks that the program exists.
    await writeFile(file, text.replace('/usr/bin/node', process.execPath));
    const { stdout, stderr } = await run(programPath('systemd-analyze'), ['verify', file]);
    expect(`${stdout}${stderr}`).toBe('');
  });

  it('is hardened', needs('systemd-analyze'), async () => {
    const args = ['security', '--offline=true', `--threshold=${MOST_EXPOSURE}`, join(FOLDER, unit)];
    const { stdout } = await run(programPath('systemd-analyze'), args);
    expect(stdout).toMatch(/Overall exposure level for route-registry/);
    expect(stdout).not.toMatch(
      /✗ (?:NoNewPrivileges|ProtectSystem|PrivateDevices|CapabilityBoundingSet|SystemCallFilter)/,
    );
  });

  it('sets only settings of the service, and points them to all secrets that it loads', async () => {
    const { NODE_ENV, ...settings } = await environmentOf(unit);
    expect(NODE_ENV).toBe('production');
    for (const name of Object.keys(settings)) expect(Object.keys(SETTINGS)).toContain(name);
    const loaded = (await directive(unit, 'LoadCredential')).map((line) => `%d/${line.split(':')[0] ?? ''}`);
    expect(Object.values(settings).filter((value) => value.startsWith('%d/'))).toEqual(loaded);
  });

  it('runs a program that the build produces', async () => {
    const [command = ''] = await directive(unit, 'ExecStart');
    const program = /^\/usr\/bin\/node \/opt\/route-registry\/(dist\/\w+\.js)$/.exec(command)?.[1] ?? '';
    await expect(readFile(resolve(FOLDER, '../..', program))).resolves.toBeInstanceOf(Buffer);
  });

  it('lets V8 compile JavaScript', async () => {
    await expect(directive(unit, 'MemoryDenyWriteExecute')).resolves.toEqual([]);
  });
});

/**
 * Starts the command of a unit as systemd would, on free ports and on an empty embedded database.
 *
 * @param files those in /etc/route-registry besides the URL of the database
 */
async function startUnit(unit: string, files: Readonly<Record<string, string>>): Promise<Program> {
  const programs = programsOfTest();
  const set = (await directive(unit, 'SetCredential')).map((line) => line.split(':') as [string, string]);
  const given = { ...Object.fromEntries(set), 'database-url': 'sqlite:routes.db', ...files };
  for (const [name, content] of Object.entries(given))
    await writeFile(join(programs.folder, name), content.replaceAll('\\n', '\n'));
  const own = Object.entries(await environmentOf(unit)).map(
    ([name, value]) => [name, value.replace('%d', programs.folder)] as const,
  );
  const [command = ''] = await directive(unit, 'ExecStart');
  const program = /(\w+)\.js$/.exec(command)?.[1] ?? '';
  const settings = Object.fromEntries(
    (files['settings.env'] ?? '').split('\n').map((line) => line.split(/=(.*)/s) as [string, string]),
  );
  return programs.start(program, [], { ...Object.fromEntries(own), ...settings, ...FREE_PORTS });
}

describe.each([SERVICE, INSTANCE])('the command line of %s', (unit) => {
  it('starts the service with a secret', async () => {
    const secret = 'a secret of the tests, long enough for HS256';
    const parties = 'JWT_ISSUER=https://issuer.test\nJWT_AUDIENCE=route-registry';
    const program = await startUnit(unit, { 'jwt-secret': secret, 'settings.env': parties });
    const url = await httpUrlOf(program);
    await expect(created(url)).resolves.toHaveProperty('id');
  });

  it('starts the service with an issuer, without a secret', async () => {
    const { settings } = await startOidcIssuer();
    const lines = Object.entries(settings).map((pair) => pair.join('='));
    const program = await startUnit(unit, { 'settings.env': ['JWT_SECRET_FILE=', ...lines].join('\n') });
    await httpUrlOf(program);
    await program.line('the key set has been fetched');
  });

  it('says what is missing where there is neither', async () => {
    const program = await startUnit(unit, { 'settings.env': 'JWT_ISSUER=i\nJWT_AUDIENCE=a' });
    const { exitCode, stderr } = await program.ended;
    expect(exitCode).toBe(1);
    expect(stderr).toContain(
      'JWT_SECRET_FILE names a file that cannot be used. It must hold 1 to 16 secrets',
    );
  });
});

it('the unit gives the service enough time to stop', async () => {
  const { DRAIN_DELAY_MS } = await environmentOf(SERVICE);
  const { drainDelayMs } = readConfig({ DRAIN_DELAY_MS });
  const [seconds] = await directive(SERVICE, 'TimeoutStopSec');
  expect(Number(seconds) * 1_000).toBeGreaterThanOrEqual(drainDelayMs + 10_000);
});

it('an instance is the same service on its own ports', async () => {
  const [service = [], instance = []] = await Promise.all(
    [SERVICE, INSTANCE].map(async (unit) => {
      const lines = (await readFile(join(FOLDER, unit), 'utf8')).split('\n');
      return lines.filter((line) => !/^(?:#|Description=)/.test(line));
    }),
  );
  const own = instance.filter((line) => !service.includes(line));
  expect(own).toEqual([expect.stringMatching(/^Environment=(?:[A-Z]+_ADDRESS=127\.0\.0\.1:\d+%i ?){3}$/)]);
  expect(instance.filter((line) => !own.includes(line))).toEqual(service);
});

it('all units run as the same user, in the same folder, under the same restrictions', async () => {
  const restrictions = UNITS.map(async (unit) => {
    const text = await readFile(join(FOLDER, unit), 'utf8');
    return text.split('\n').filter((line) => RESTRICTION.test(line));
  });
  const [service, ...others] = await Promise.all(restrictions);
  expect(others).toEqual(others.map(() => service));
});
