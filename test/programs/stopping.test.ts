import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { performance } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { built } from '../support/built.js';
import { engines } from '../support/engines.js';
import { freePort } from '../support/free-port.js';
import { itOn } from '../support/needs.js';
import { LEASH, moduleUrl, type Program, Programs } from '../support/process.js';
import { SERVICE_SETTINGS, tokenFor } from '../support/service.js';
import { startTcpProxy } from '../support/tcp-proxy.js';

/** Longer than the time in which a signal repeats the first one. */
const LATER_MS = 1_200;
/** Longer than any test waits. */
const NEVER_MS = '60000';
/** Building takes its time where other tests run. */
const NPM_START_MS = 120_000;
const ROOT = resolve(import.meta.dirname, '../..');

let programs: Programs;

beforeEach(() => {
  programs = new Programs();
});

afterEach(() => programs.end());

function run(settings: Record<string, string> = {}, name = 'main'): Program {
  return programs.start(name, [], { ...SERVICE_SETTINGS, ...settings });
}

async function httpUrlOf(program: Program): Promise<string> {
  return String((await program.line('listening'))['http']);
}

async function create(url: string): Promise<Response> {
  return fetch(`${url}/v1/routing`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${tokenFor()}`,
      'content-type': 'application/json',
      connection: 'close',
    },
    body: JSON.stringify({ method: 'GET', path: '/', handler: 'h' }),
  });
}

function messagesOf(program: Program): unknown[] {
  return program.lines().map(({ msg }) => msg);
}

/** Throws and rejects, respectively, on these signals. */
const FAULTY = moduleUrl(`
  process.on('SIGUSR2', () => { throw new Error('unforeseen'); });
  process.on('SIGWINCH', () => void Promise.reject(new Error('unforeseen')));
`);

describe('after a signal to stop', () => {
  it('the health is not serving, while all else goes on for DRAIN_DELAY_MS', async () => {
    const service = run({ DRAIN_DELAY_MS: '1500' });
    const url = await httpUrlOf(service);
    await create(url);
    const begunAt = performance.now();
    const ended = service.stop();
    await service.line('not serving');
    await expect(fetch(`${url}/healthz`)).resolves.toMatchObject({ status: 503 });
    await expect(create(url)).resolves.toMatchObject({ status: 201 });
    await delay(1_000);
    await expect(create(url)).resolves.toMatchObject({ status: 201 });
    await expect(ended).resolves.toMatchObject({ exitCode: 0 });
    expect(performance.now() - begunAt).toBeGreaterThanOrEqual(1_490);
    expect(messagesOf(service).at(-1)).toBe('stopped');
  });

  it.each(['SIGTERM', 'SIGINT', 'SIGHUP'] as const)(
    '%s, repeats within a second change nothing',
    async (signal) => {
      const service = run({ DRAIN_DELAY_MS: '300' });
      await service.line('listening');
      const ended = service.stop(signal);
      await service.line('stopping');
      void service.stop('SIGINT');
      void service.stop('SIGTERM');
      await expect(ended).resolves.toMatchObject({ exitCode: 0 });
      expect(messagesOf(service).filter((message) => message === 'stopping')).toHaveLength(1);
      expect(messagesOf(service).at(-1)).toBe('stopped');
    },
  );

  it.each([
    ['SIGTERM', 143],
    ['SIGINT', 130],
    ['SIGHUP', 129],
  ] as const)(
    'a later %s ends it at once with exit code %i, and its log is complete',
    async (signal, exitCode) => {
      const service = run({ DRAIN_DELAY_MS: NEVER_MS });
      await service.line('listening');
      void service.stop();
      await service.line('not serving');
      await delay(LATER_MS);
      await expect(service.stop(signal)).resolves.toMatchObject({ exitCode });
      expect(service.lines().at(-1)).toMatchObject({ msg: 'ending before everything is closed', signal });
    },
  );
});

it(
  'Ctrl-C under npm start, which is two signals, ends it in order',
  async () => {
    const npm = spawn('npm', ['start'], {
      cwd: ROOT,
      // A group of its own, as in a terminal.
      detached: true,
      env: {
        PATH: process.env['PATH'],
        HOME: process.env['HOME'],
        NODE_OPTIONS: `--import ${LEASH}`,
        ...SERVICE_SETTINGS,
        DATABASE_URL: `sqlite:${programs.folder}/routes.db`,
        DRAIN_DELAY_MS: '500',
      },
      stdio: 'pipe',
    });
    let stdout = '';
    let stderr = '';
    npm.stdout.on('data', (data: Buffer) => (stdout += data.toString()));
    npm.stderr.on('data', (data: Buffer) => (stderr += data.toString()));
    const ended = once(npm, 'close');
    onTestFinished(() => void npm.kill('SIGKILL'));
    await expect.poll(() => stdout, { timeout: NPM_START_MS }).toContain('"msg":"listening"');
    expect(stderr).toContain('Building…\n');
    const url = /"http":"([^"]*)"/.exec(stdout)?.[1] ?? '';
    await expect(create(url)).resolves.toMatchObject({ status: 201 });
    process.kill(-Number(npm.pid), 'SIGINT');
    await expect(ended).resolves.toEqual([0, null]);
    expect(stdout).toContain('"msg":"stopped"');
    expect(statSync(`${programs.folder}/routes.db-wal`).size).toBe(0);
  },
  NPM_START_MS,
);

describe('while it waits for the database', () => {
  it('a signal ends it at once with exit code 0', async () => {
    const service = run({
      DATABASE_URL: `mysql://me:password@127.0.0.1:${await freePort()}/routes`,
      DATABASE_WAIT_MS: NEVER_MS,
    });
    await service.line('waiting up to 60 s for the database');
    await expect(service.stop()).resolves.toMatchObject({ exitCode: 0, stderr: '' });
    expect(messagesOf(service).slice(-2)).toEqual(['stopping', 'stopped']);
  });

  itOn(engines.slice(1))('it, and a migration, begin when $name is there', async (engine) => {
    const database = await engine.createDatabase();
    const url = new URL(database.url);
    const target = Number(url.port);
    const port = await freePort();
    url.port = String(port);
    const settings = { DATABASE_URL: url.href, DATABASE_WAIT_MS: NEVER_MS };
    const service = run(settings);
    await service.line('waiting up to 60 s for the database');
    const migration = run(settings, 'migrate');
    await expect.poll(() => migration.stdout).toContain('waiting up to 60 s for the database\n');
    await run({ DATABASE_URL: database.url }, 'migrate').ended;
    const proxy = await startTcpProxy(target, port);
    await expect(migration.ended).resolves.toMatchObject({ exitCode: 0, stderr: '' });
    await expect(create(await httpUrlOf(service))).resolves.toMatchObject({ status: 201 });
    await service.stop();
    await proxy.close();
    await database.drop();
  });
});

describe('an error that nothing handles', () => {
  it.each([
    ['thrown', 'SIGUSR2'],
    ['of a promise', 'SIGWINCH'],
  ] as const)(
    '%s, is logged once with its stack, ends it with exit code 1 and loses no create',
    async (_, signal) => {
      const service = run({ NODE_OPTIONS: `--import ${FAULTY}` });
      const response = await create(await httpUrlOf(service));
      const created: unknown = await response.json();
      const { exitCode, stderr } = await service.stop(signal);
      expect({ exitCode, stderr }).toEqual({ exitCode: 1, stderr: '' });
      const fatal = service.lines().filter(({ level }) => level === 'fatal');
      expect(fatal).toMatchObject([
        { err: { message: 'unforeseen', stack: expect.stringContaining('at ') as unknown } },
      ]);
      const url = await httpUrlOf(run());
      const again = await fetch(url + String(response.headers.get('location')), {
        headers: { authorization: `Bearer ${tokenFor()}` },
      });
      await expect(again.json()).resolves.toEqual(created);
    },
  );
});

it('a log that cannot be written neither ends it nor keeps it from ending', async () => {
  const address = `127.0.0.1:${await freePort()}`;
  // No file that it writes may have a byte.
  const script = 'ulimit -f 0 && exec "$0" --import "$1" "$2" > log';
  const service = spawn('sh', ['-c', script, process.execPath, LEASH, join(built(), 'main.js')], {
    cwd: programs.folder,
    env: { ...SERVICE_SETTINGS, HTTP_ADDRESS: address, DATABASE_URL: 'sqlite::memory:', LOG_LEVEL: 'debug' },
    stdio: 'pipe',
  });
  const ended = once(service, 'close');
  onTestFinished(() => void service.kill('SIGKILL'));
  const answered = async (): Promise<number> => (await create(`http://${address}`)).status;
  await expect.poll(() => answered().catch(() => 0), { timeout: 20_000 }).toBe(201);
  await expect(answered()).resolves.toBe(201);
  service.kill('SIGTERM');
  await expect(ended).resolves.toEqual([0, null]);
});
