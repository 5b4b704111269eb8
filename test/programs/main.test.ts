import { once } from 'node:events';
import { copyFileSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { Agent, type IncomingMessage, request as send } from 'node:http';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Database, engines } from '../support/engines.js';
import { freePort } from '../support/free-port.js';
import { describeOn } from '../support/needs.js';
import { checkResponse } from '../support/openapi.js';
import { type Ended, moduleUrl, type Program, Programs } from '../support/process.js';
import { SERVICE_SETTINGS, tokenFor } from '../support/service.js';

const ROUTE = { method: 'GET', path: '/users/:id', middleware: ['👩‍👩‍👧'], handler: 'getUser' };
/** Keeps a thread of Node's pool busy for a while from SIGTERM on. */
const BUSY_WHEN_STOPPED = moduleUrl(`
  import { pbkdf2 } from 'node:crypto';
  process.on('SIGTERM', () => pbkdf2('', '', 50_000, 32, 'sha256', () => undefined));
`);
/** Makes the HTTP server fail to close. */
const CANNOT_BE_CLOSED = moduleUrl(`
  import { Server } from 'node:http';
  Server.prototype.close = () => { throw new Error('stuck'); };
`);

let programs: Programs;

beforeEach(() => {
  programs = new Programs();
});

afterEach(() => programs.end());

function run(name: string, settings: Record<string, string> = {}, args: string[] = []): Program {
  return programs.start(name, args, {
    GRPC_ADDRESS: '127.0.0.1:0',
    HTTP_ADDRESS: '127.0.0.1:0',
    OPS_ADDRESS: '127.0.0.1:0',
    ...settings,
  });
}

/** The base of all REST paths, once the program listens. */
async function httpUrlOf(program: Program): Promise<string> {
  return String((await program.line('listening'))['http']);
}

/** Requests a path below the service's base, and checks the answer against the service's own description. */
async function ask(url: string, path: string, init: RequestInit): Promise<Response> {
  const response = await fetch(url + path, init);
  const basePath = new URL(url).pathname.replace(/^\/$/, '');
  await checkResponse({ method: init.method ?? 'GET', url: url + path }, response, basePath);
  return response;
}

async function createOver(url: string, token: string): Promise<{ id: string; createdAt: string }> {
  const response = await ask(url, '/v1/routing', {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify(ROUTE),
  });
  expect(response.status).toBe(201);
  return (await response.json()) as { id: string; createdAt: string };
}

async function getOver(url: string, id: string, token: string): Promise<unknown> {
  const response = await ask(url, `/v1/routing/${id}`, { headers: { authorization: `Bearer ${token}` } });
  return response.json();
}

function localToken(...args: string[]): Promise<Ended> {
  return run('token', {}, ['--scope', 'routes:read routes:write', '--sub', 'me', ...args]).ended;
}

describe('without settings', () => {
  it('the service runs, keeps its secret to itself and shows commands to try', async () => {
    const service = run('main');
    const url = await httpUrlOf(service);
    await service.line('local mode: tokens are verified with a locally generated secret');
    const secretFile = join(programs.folder, 'data/jwt-secret');
    expect(statSync(secretFile).mode & 0o777).toBe(0o600);
    const secret = readFileSync(secretFile, 'utf8');
    expect(secret).toMatch(/^[0-9a-f]{64}$/);

    const { stdout, stderr, exitCode } = await localToken('--ttl', '1h');
    expect({ stderr, exitCode }).toEqual({ stderr: '', exitCode: 0 });
    expect(stdout).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+\n$/);
    const created = await createOver(url, stdout.trim());
    await expect(getOver(url, created.id, stdout.trim())).resolves.toEqual(created);

    const probe = run('health-probe', { HTTP_ADDRESS: new URL(url).host });
    await expect(probe.ended).resolves.toMatchObject({ exitCode: 0 });
    expect(service.stderr).toContain(`curl -sS ${url}/v1/routing/$ID`);
    const everything = service.stderr + JSON.stringify(service.lines());
    expect(everything).not.toContain(secret);
    expect(everything).not.toContain(stdout.trim());
  });

  it.each(['SIGTERM', 'SIGINT'] as const)('%s ends it in order with exit code 0', async (signal) => {
    const service = run('main');
    await service.line('listening');
    const { exitCode } = await service.stop(signal);
    expect(exitCode).toBe(0);
    expect(service.lines().at(-1)).toMatchObject({ msg: 'stopped' });
  });

  it('its log is complete, however busy the threads are that write it', async () => {
    const service = run('main', { UV_THREADPOOL_SIZE: '1', NODE_OPTIONS: `--import ${BUSY_WHEN_STOPPED}` });
    await service.line('listening');
    await service.stop();
    const messages = service.lines().map(({ msg }) => msg);
    expect(messages.slice(-8, -6)).toEqual(['stopping', 'not serving']);
    expect(messages.slice(-6, -4).sort()).toEqual(['closed the HTTP server', 'closed the gRPC server']);
    expect(messages.slice(-4)).toEqual([
      'closed the load measurement',
      'closed the database',
      'closed the listener for operators',
      'stopped',
    ]);
  });

  it('a failure to close is logged, and reported by exit code 1 after everything else is closed', async () => {
    const service = run('main', { OPS_ADDRESS: 'off', NODE_OPTIONS: `--import ${CANNOT_BE_CLOSED}` });
    await service.line('listening');
    await expect(service.stop()).resolves.toMatchObject({ exitCode: 1 });
    expect(service.lines().at(-1)).toMatchObject({
      msg: 'not everything could be closed',
      err: { aggregateErrors: [{ message: 'stuck' }] },
    });
    expect(statSync(join(programs.folder, 'data/routes.db-wal')).size).toBe(0);
  });

  it('after SIGTERM a request in progress is answered, and its connection takes no further one', async () => {
    const service = run('main');
    const url = new URL(await httpUrlOf(service));
    const token = (await localToken()).stdout.trim();
    const agent = new Agent({ keepAlive: true });
    const body = Buffer.from(JSON.stringify(ROUTE));
    const request = send({
      agent,
      host: url.hostname,
      port: url.port,
      path: '/v1/routing',
      method: 'POST',
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        'content-length': body.length,
        expect: '100-continue',
      },
    });
    request.flushHeaders();
    await once(request, 'continue');
    request.write(body.subarray(0, 10));
    const ended = service.stop();
    await service.line('stopping');
    request.end(body.subarray(10));
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    expect(response.statusCode).toBe(201);
    response.resume();
    await expect(ended).resolves.toMatchObject({ exitCode: 0 });
    await expect(fetch(url)).rejects.toThrow();
    agent.destroy();
  });

  it('a unix socket that a killed service left behind is taken over', async () => {
    const settings = { ROLE: 'grpc', GRPC_ADDRESS: `unix:${programs.folder}/s` };
    const first = run('main', settings);
    await first.line('listening');
    await first.stop('SIGKILL');
    await expect(run('main', settings).line('listening')).resolves.toMatchObject({
      grpc: settings.GRPC_ADDRESS,
    });
  });

  it('a unix socket on which another service listens is not', async () => {
    const settings = { ROLE: 'grpc', GRPC_ADDRESS: `unix:${programs.folder}/s` };
    await run('main', settings).line('listening');
    await expect(run('main', settings).ended).resolves.toMatchObject({ exitCode: 1 });
  });

  it('its routes are complete in one file once it has ended', async () => {
    const first = run('main');
    const firstUrl = await httpUrlOf(first);
    const token = (await localToken()).stdout.trim();
    const created = await createOver(firstUrl, token);
    await first.stop();
    copyFileSync(join(programs.folder, 'data/routes.db'), join(programs.folder, 'copy.db'));
    const url = await httpUrlOf(run('main', { DATABASE_URL: 'sqlite:copy.db' }));
    await expect(getOver(url, created.id, token)).resolves.toEqual(created);
  });

  it('a secret stays the same over a restart', async () => {
    const first = run('main');
    await first.line('listening');
    const token = (await localToken()).stdout.trim();
    await first.stop();
    const url = await httpUrlOf(run('main'));
    await expect(createOver(url, token)).resolves.toMatchObject(ROUTE);
  });
});

describe('with wrong settings', () => {
  it('the service reports every problem, without a stack, and exits with 1', async () => {
    const { exitCode, stdout, stderr } = await run('main', {
      ROLE: 'x',
      DEADLINE_MS: '-1',
      JWT_SECRET: 'short',
    }).ended;
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
    expect(stderr.trimEnd().split('\n')).toEqual([
      'The settings cannot be used:',
      '- ROLE is "x"; it must be one of all, grpc, gateway.',
      '- JWT_SECRET is shorter than 32 bytes.',
      '- JWT_ISSUER is missing; it is the iss that every token must have.',
      '- JWT_AUDIENCE is missing; it is the aud that every token must have.',
      '- DEADLINE_MS is "-1"; it must be a whole number from 1 to 600000.',
    ]);
  });

  it.each(['GRPC_ADDRESS', 'HTTP_ADDRESS', 'OPS_ADDRESS'])(
    'a port that is taken for %s is said in a line, with exit code 1',
    async (name) => {
      const taken = new URL(await httpUrlOf(run('main'))).host;
      const { exitCode, stderr } = await run('main', { [name]: taken }).ended;
      expect(exitCode).toBe(1);
      expect(stderr).toBe(
        `The service cannot start: Cannot listen on ${name}=${taken}: another program uses it, perhaps another copy of this service.\n`,
      );
    },
  );

  it.each(['main', 'migrate'])(
    'a database that is away is named by its setting, without its password: %s',
    async (program) => {
      const { exitCode, stderr } = await run(program, {
        ...SERVICE_SETTINGS,
        DATABASE_URL: `mysql://me:password@127.0.0.1:${await freePort()}/routes`,
      }).ended;
      expect(exitCode).toBe(1);
      expect(stderr.trimEnd().split('\n')).toHaveLength(1);
      expect(stderr).toMatch(/The database named by DATABASE_URL cannot be reached: .*ECONNREFUSED/);
      expect(stderr).not.toContain('password');
    },
  );

  it.each(['all', 'grpc'])(
    'a probe for health finds nothing with ROLE=%s where nothing listens',
    async (role) => {
      const address = `127.0.0.1:${await freePort()}`;
      const { exitCode } = await run('health-probe', {
        ROLE: role,
        HTTP_ADDRESS: address,
        GRPC_ADDRESS: address,
      }).ended;
      expect(exitCode).toBe(1);
    },
  );

  it('a token cannot be made without a scope', async () => {
    const { exitCode, stdout, stderr } = await run('token', {}, ['--sub', 'me']).ended;
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
    expect(stderr).toMatch(/^--scope is missing\.\nUsage: npm run --silent token .*\n$/);
  });

  it('a token cannot be made without a subject', async () => {
    const { exitCode, stdout, stderr } = await run('token', {}, ['--scope', 'routes:read']).ended;
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
    expect(stderr).toMatch(/^--sub is missing\.\nUsage: /);
  });

  it.each(['1', '0', 'zz', '0h', '1w', '-1h', '1 h'])(
    'a token cannot be made for a ttl of %s',
    async (ttl) => {
      const { exitCode, stdout, stderr } = await localToken(`--ttl=${ttl}`);
      expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
      expect(stderr).toMatch(
        /^--ttl must be a whole number from 1 to 999999 followed by s, m, h or d, .*\nUsage: /,
      );
    },
  );

  it.each(['--help', '-h'])('%s shows how to make a token', async (option) => {
    const { exitCode, stdout, stderr } = await run('token', {}, [option]).ended;
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    expect(stdout).toMatch(/^Usage: npm run --silent token .*\n$/);
  });

  it('a secret file that holds no secret is named', async () => {
    mkdirSync(join(programs.folder, 'data'));
    writeFileSync(join(programs.folder, 'data/jwt-secret'), '', { mode: 0o600 });
    const { exitCode, stdout, stderr } = await localToken();
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
    expect(stderr).toMatch(/^The file \S+\/data\/jwt-secret does not hold a secret/);
  });

  it('a token cannot be made for a subject with a line break', async () => {
    const { exitCode, stdout, stderr } = await run('token', {}, ['--scope', 'routes:read', '--sub', 'a\nb'])
      .ended;
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
    expect(stderr).toMatch(/^--sub must have 1 to 255 characters/);
  });

  it('a token cannot be made where only others hold the key', async () => {
    const settings = { JWT_JWKS_URL: 'http://127.0.0.1/keys', JWT_ISSUER: 'i', JWT_AUDIENCE: 'a' };
    const { exitCode, stderr } = await run('token', settings, ['--scope', 'routes:read', '--sub', 'me'])
      .ended;
    expect(exitCode).toBe(1);
    expect(stderr).toContain('only with JWT_SECRET');
  });
});

describeOn(engines)('on $name', (engine) => {
  let database: Database;
  let settings: Record<string, string>;

  beforeEach(async () => {
    database = await engine.createDatabase();
    settings = { ...SERVICE_SETTINGS, DATABASE_URL: database.url };
  });

  afterEach(async () => {
    await programs.kill();
    await database.drop();
  });

  it('migrations run up, report their status and run down', async () => {
    const migrate = async (...args: string[]): Promise<string> => {
      const { stdout, stderr, exitCode } = await run('migrate', settings, args).ended;
      expect({ stderr, exitCode }).toEqual({ stderr: '', exitCode: 0 });
      return stdout;
    };
    const each = (word: string): string => `${word} 0001-routes\n${word} 0002-shapes-as-text\n`;
    await expect(migrate('--status')).resolves.toBe(each('pending'));
    await expect(migrate()).resolves.toBe(each('applied'));
    await expect(migrate()).resolves.toBe('nothing to do\n');
    await expect(migrate('--status')).resolves.toBe(each('applied'));
    await expect(migrate('--down')).resolves.toBe('rolled back 0002-shapes-as-text\n');
    await expect(migrate('--down')).resolves.toBe('rolled back 0001-routes\n');
    await expect(migrate('--down')).resolves.toBe('nothing to do\n');
    await expect(migrate('--status')).resolves.toBe(each('pending'));
  });

  it('an acknowledged create survives SIGKILL', async () => {
    await run('migrate', settings).ended;
    const first = run('main', settings);
    const created = await createOver(await httpUrlOf(first), tokenFor());
    await first.stop('SIGKILL');
    const url = await httpUrlOf(run('main', settings));
    await expect(getOver(url, created.id, tokenFor())).resolves.toEqual(created);
  });

  it('50 concurrent creates with one request id, from two processes on one database, make one route', async () => {
    await run('migrate', settings).ended;
    const urls = [await httpUrlOf(run('main', settings)), await httpUrlOf(run('main', settings))];
    const creates = Array.from({ length: 50 }, async (_, index) => {
      const response = await ask(String(urls[index % 2]), '/v1/routing', {
        method: 'POST',
        headers: {
          authorization: `Bearer ${tokenFor()}`,
          'content-type': 'application/json',
          'idempotency-key': 'burst',
        },
        body: JSON.stringify(ROUTE),
      });
      return `${response.status} ${await response.text()}`;
    });
    const answers = new Set(await Promise.all(creates));
    expect(answers.size).toBe(1);
    expect([...answers][0]).toMatch(/^201 \{"id":/);
  });

  it("a route's time is UTC whatever the time zone of the process", async () => {
    await run('migrate', settings).ended;
    const before = Date.now();
    const inIndia = await httpUrlOf(run('main', { ...settings, TZ: 'Asia/Kolkata' }));
    const inChatham = await httpUrlOf(run('main', { ...settings, TZ: 'Pacific/Chatham' }));
    const created = await createOver(inIndia, tokenFor());
    expect(Date.parse(created.createdAt)).toBeGreaterThanOrEqual(before);
    expect(Date.parse(created.createdAt)).toBeLessThanOrEqual(Date.now());
    await expect(getOver(inIndia, created.id, tokenFor())).resolves.toEqual(created);
    await expect(getOver(inChatham, created.id, tokenFor())).resolves.toEqual(created);
  });

  it('each half runs in a separate process', async () => {
    await run('migrate', settings).ended;
    const server = run('main', { ...settings, ROLE: 'grpc' });
    const { grpc, http } = await server.line('listening');
    expect(http).toBeUndefined();
    const gateway = run('main', { ROLE: 'gateway', GRPC_UPSTREAM: String(grpc), BASE_PATH: '/api' });
    const url = await httpUrlOf(gateway);
    expect(url).toMatch(/\/api$/);
    const created = await createOver(url, tokenFor());
    await expect(getOver(url, created.id, tokenFor())).resolves.toEqual(created);
    await expect(
      run('health-probe', { ...settings, ROLE: 'grpc', GRPC_ADDRESS: String(grpc) }).ended,
    ).resolves.toMatchObject({ exitCode: 0 });
    await expect(gateway.stop()).resolves.toMatchObject({ exitCode: 0 });
    await expect(server.stop()).resolves.toMatchObject({ exitCode: 0 });
  });
});

describeOn(engines.slice(1))('on $name', (engine) => {
  it('an outdated schema is refused in one line that names the command', async () => {
    const database = await engine.createDatabase();
    const { exitCode, stderr } = await run('main', { ...SERVICE_SETTINGS, DATABASE_URL: database.url }).ended;
    expect({ exitCode, stderr }).toEqual({
      exitCode: 1,
      stderr:
        'The service cannot start: The database schema is out of date. Update it with: npm run migrate\n',
    });
    await database.drop();
  });
});
