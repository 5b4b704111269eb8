import { copyFileSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { MIGRATIONS } from '../../src/store/migrations.js';
import { type Database, engines } from '../support/engines.js';
import { describeOn } from '../support/needs.js';
import { type Program, Programs } from '../support/process.js';
import { createRouteOver, getOver, httpUrlOf, ROUTE } from '../support/program-fixture.js';
import { FREE_PORTS, SERVICE_SETTINGS } from '../support/service.js';

let programs: Programs;

beforeAll(() => {
  programs = new Programs();
});

afterAll(() => programs.end());

function run(name: string, settings: Record<string, string> = {}, args: string[] = []): Program {
  return programs.start(name, args, { ...FREE_PORTS, ...settings });
}

describe('the arguments of the service', () => {
  it('may ask for help', async () => {
    const { stdout, exitCode } = await run('main', {}, ['--help']).ended;
    expect({ stdout, exitCode }).toEqual({
      stdout: expect.stringMatching(/^Usage: node dist\/main\.js \[--help\]\n/) as string,
      exitCode: 0,
    });
  });

  it.each(['--prot', '-x', 'start'])('stop the start if they are unknown: %s', async (argument) => {
    const { stderr, exitCode } = await run('main', {}, [argument]).ended;
    expect({ stderr, exitCode }).toEqual({
      stderr: expect.stringMatching(new RegExp(`^The service cannot start: .*${argument}.*\n$`)) as string,
      exitCode: 1,
    });
  });
});

describe('a service without settings', () => {
  let service: Program;
  let url: string;
  let token: string;

  beforeAll(async () => {
    service = run('main');
    url = await httpUrlOf(service);
    const asked = ['--scope', 'routes:read routes:write', '--sub', 'me', '--ttl', '1h'];
    const { stdout, stderr, exitCode } = await run('token', {}, asked).ended;
    const from = 'Signed with the local secret, data/jwt-secret, since JWT_SECRET is not set.\n';
    expect({ stderr, exitCode }).toEqual({ stderr: from, exitCode: 0 });
    expect(stdout).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+\n$/);
    token = stdout.trim();
  });

  it('works, prints the first steps and keeps its secret private', async () => {
    await service.line('local mode: tokens are verified with a locally generated secret');
    const secretFile = join(programs.folder, 'data/jwt-secret');
    expect(statSync(secretFile).mode & 0o777).toBe(0o600);
    const secret = readFileSync(secretFile, 'utf8');
    expect(secret).toMatch(/^[0-9a-f]{64}$/);
    const route = await createRouteOver(url, token);
    expect(route).toMatchObject(ROUTE);
    await expect(getOver(url, route.id, token)).resolves.toEqual(route);
    expect(service.stderr).toContain(`\ndocs   ${url}/docs\n`);
    const everything = service.stderr + JSON.stringify(service.lines());
    expect(everything).not.toContain(secret);
    expect(everything).not.toContain(token);
  });

  it.each(['GRPC_ADDRESS', 'HTTP_ADDRESS', 'OPS_ADDRESS'])(
    'makes a second service with its port as %s exit with code 1 and one line that says why',
    async (name) => {
      const taken = new URL(url).host;
      const { exitCode, stderr } = await run('main', { [name]: taken }).ended;
      expect(exitCode).toBe(1);
      expect(stderr).toBe(
        `The service cannot start: Cannot listen on ${name}=${taken}: another program uses it, perhaps another copy of this service.\n`,
      );
    },
  );

  it('leaves all routes in one file when it stops, and keeps its secret when it restarts', async () => {
    const route = await createRouteOver(url, token);
    await service.stop();
    copyFileSync(join(programs.folder, 'data/routes.db'), join(programs.folder, 'copy.db'));
    const again = await httpUrlOf(run('main', { DATABASE_URL: 'sqlite:copy.db' }));
    await expect(getOver(again, route.id, token)).resolves.toEqual(route);
  });
});

it('a service replaces the unix socket of a killed service, but not one on which another service listens', async () => {
  const settings = {
    ROLE: 'grpc',
    GRPC_ADDRESS: `unix:${programs.folder}/s`,
    DATABASE_URL: 'sqlite::memory:',
  };
  const first = run('main', settings);
  await first.line('listening');
  await first.stop('SIGKILL');
  await expect(run('main', settings).line('listening')).resolves.toMatchObject({
    grpc: settings.GRPC_ADDRESS,
  });
  const { exitCode, stderr } = await run('main', settings).ended;
  expect(exitCode).toBe(1);
  expect(stderr).toContain('another program uses it');
});

describe('the programs', () => {
  it('main reports every invalid setting without a stack trace and exits with code 1', async () => {
    const { exitCode, stdout, stderr } = await run('main', {
      ROLE: 'x',
      DEADLINE_MS: '-1',
      JWT_SECRET: 'short',
    }).ended;
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
    expect(stderr.trimEnd().split('\n')).toEqual([
      'The settings cannot be used:',
      '- ROLE must be one of all, grpc, gateway; got "x".',
      '- DATABASE_URL must be set when a setting of tokens (JWT_…) is set; got none.',
      '- JWT_SECRET must be at least 32 bytes; got 5.',
      '- JWT_ISSUER must be the iss of every token; got none.',
      '- JWT_AUDIENCE must be the aud of every token; got none.',
      '- DEADLINE_MS must be a whole number from 1 to 600000; got "-1".',
    ]);
  });
});

describeOn(engines)('on $name', (engine) => {
  let database: Database;
  let settings: Record<string, string>;

  beforeAll(async () => {
    database = await engine.createDatabase();
    settings = { ...SERVICE_SETTINGS, DATABASE_URL: database.url };
  });

  afterAll(async () => {
    await programs.kill();
    await database.drop();
  });

  it('migrations run and report their status', async () => {
    const migrate = async (...args: string[]): Promise<string> => {
      const { stdout, stderr, exitCode } = await run('migrate', settings, args).ended;
      expect({ stderr, exitCode }).toEqual({ stderr: '', exitCode: 0 });
      return stdout;
    };
    const names = MIGRATIONS.map(({ name }) => name);
    const linesWith = (word: string): string => names.map((name) => `${word} ${name}\n`).join('');
    await expect(migrate('--status')).resolves.toBe(linesWith('pending'));
    await expect(migrate()).resolves.toBe(linesWith('applied'));
    await expect(migrate()).resolves.toBe('nothing to do\n');
    await expect(migrate('--status')).resolves.toBe(linesWith('applied'));
  });

  it("two processes return a route's time in UTC, whatever their time zones", async () => {
    await run('migrate', settings).ended;
    const both = ['Asia/Kolkata', 'Pacific/Chatham'].map((TZ) => run('main', { ...settings, TZ }));
    const [inIndia = '', inChatham = ''] = await Promise.all(both.map(httpUrlOf));
    const before = Date.now();
    const route = await createRouteOver(inIndia);
    expect(Date.parse(route.createdAt)).toBeGreaterThanOrEqual(before);
    expect(Date.parse(route.createdAt)).toBeLessThanOrEqual(Date.now());
    await expect(getOver(inIndia, route.id)).resolves.toEqual(route);
    await expect(getOver(inChatham, route.id)).resolves.toEqual(route);
  });
});
