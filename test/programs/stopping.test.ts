import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { buildFolder } from '../support/build-folder.js';
import { engines } from '../support/engines.js';
import { freePort } from '../support/free-port.js';
import { itOn } from '../support/needs.js';
import { OtlpCollector } from '../support/otlp-collector.js';
import { LEASH, moduleUrl, type Program, type Programs } from '../support/process.js';
import { createOver, getOver, httpUrlOf, programsOfTest } from '../support/program-fixture.js';
import { SERVICE_SETTINGS } from '../support/service.js';
import { startTcpProxy } from '../support/tcp-proxy.js';

/** Longer than any test waits. */
const NEVER_MS = '60000';
/** Allows for a build while other tests run. */
const NPM_START_MS = 120_000;
const ROOT = resolve(import.meta.dirname, '../..');

let programs: Programs;

beforeEach(() => {
  programs = programsOfTest();
});

function run(settings: Record<string, string> = {}, name = 'main'): Program {
  const database = { DATABASE_URL: 'sqlite:routes.db' };
  return programs.start(name, [], { ...SERVICE_SETTINGS, ...database, ...settings });
}

function messagesOf(program: Program): unknown[] {
  return program.lines().map(({ msg }) => msg);
}

/** Keeps a thread of Node's pool busy for a while after SIGTERM. */
const BUSY_WHEN_STOPPED = moduleUrl(`
  import { pbkdf2 } from 'node:crypto';
  process.on('SIGTERM', () => pbkdf2('', '', 50_000, 32, 'sha256', () => undefined));
`);
/** Throws on SIGUSR2, and rejects a promise on SIGWINCH. */
const FAULTY = moduleUrl(`
  process.on('SIGUSR2', () => { throw new Error('unforeseen'); });
  process.on('SIGWINCH', () => void Promise.reject(new Error('unforeseen')));
`);
/** An HTTP server, such as the listener for operators, fails to close. */
const CLOSES_NOT = moduleUrl(`
  import { Server } from 'node:http';
  Server.prototype.close = () => { throw new Error('unforeseen'); };
`);

it('a stop logs each step with its time, even while the threads that write the log are busy', async () => {
  const drainMs = 500;
  const collector = await OtlpCollector.open();
  onTestFinished(() => collector.close());
  const service = run({
    ...collector.settings,
    DRAIN_DELAY_MS: String(drainMs),
    UV_THREADPOOL_SIZE: '1',
    NODE_OPTIONS: `--import ${BUSY_WHEN_STOPPED}`,
  });
  const url = await httpUrlOf(service);
  const before = service.lines().length;
  await expect(service.stop()).resolves.toMatchObject({ exitCode: 0, stderr: '' });
  const steps = service.lines().slice(before);
  const servers = steps.splice(2, 2);
  expect(servers.map(({ msg }) => msg).sort()).toEqual(['closed the HTTP server', 'closed the gRPC server']);
  expect(steps.map(({ msg }) => msg)).toEqual([
    'stopping',
    'not serving',
    'closed the database',
    'closed the span queue',
    'closed the listener for operators',
    'stopped',
  ]);
  expect(Number(steps[1]?.['ms'])).toBeLessThan(drainMs);
  // A timer may be a millisecond early.
  for (const { ms } of [...servers, ...steps.slice(2, -1)]) expect(ms).toBeGreaterThanOrEqual(drainMs - 1);
  await expect(fetch(url)).rejects.toThrow();
});

it('further signals to stop have no effect for a second, and then end the service at once with a complete log', async () => {
  const service = run({ DRAIN_DELAY_MS: NEVER_MS });
  await service.line('listening');
  let ended = false;
  void service.ended.then(() => (ended = true));
  await expect
    .poll(() => {
      void service.stop('SIGTERM');
      return ended;
    })
    .toBe(true);
  await expect(service.ended).resolves.toMatchObject({ exitCode: 143 });
  const lines = service.lines();
  expect(lines.filter(({ msg }) => msg === 'stopping')).toHaveLength(1);
  expect(lines.at(-1)).toMatchObject({ msg: 'exiting before everything is closed', signal: 'SIGTERM' });
  const [stopping, ending] = ['stopping', 'exiting before everything is closed'].map((message) =>
    Date.parse(String(lines.find(({ msg }) => msg === message)?.['time'])),
  );
  expect(Number(ending) - Number(stopping)).toBeGreaterThanOrEqual(999);
});

it(
  'Ctrl-C under npm start, which sends two signals, stops the service gracefully',
  async () => {
    const npm = spawn('npm', ['start'], {
      cwd: ROOT,
      // Its own process group, as in a terminal.
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
    // All is built.
    expect(stderr).not.toContain('Building');
    const url = /"http":"([^"]*)"/.exec(stdout)?.[1] ?? '';
    await expect(createOver(url)).resolves.toMatchObject({ status: 201 });
    process.kill(-Number(npm.pid), 'SIGINT');
    await expect(ended).resolves.toEqual([0, null]);
    expect(stdout).toContain('"msg":"stopped"');
    expect(statSync(`${programs.folder}/routes.db-wal`).size).toBe(0);
  },
  NPM_START_MS,
);

it('a resource that fails to close leads to exit code 1, after everything else has closed', async () => {
  const service = run({ ROLE: 'grpc', NODE_OPTIONS: `--import ${CLOSES_NOT}` });
  await service.line('listening');
  await expect(service.stop()).resolves.toMatchObject({ exitCode: 1, stderr: '' });
  expect(messagesOf(service).slice(-2)).toEqual(['closed the database', 'not everything could be closed']);
});

describe('while the service waits for the database', () => {
  it('it is alive but not ready, and a signal stops it at once with exit code 0', async () => {
    const ops = `127.0.0.1:${await freePort()}`;
    const service = run({
      DATABASE_URL: `mysql://me:password@127.0.0.1:${await freePort()}/routes`,
      DATABASE_WAIT_MS: NEVER_MS,
      OPS_ADDRESS: ops,
    });
    await service.line('waiting up to 60 s for the database');
    await expect(fetch(`http://${ops}/livez`)).resolves.toMatchObject({ status: 200 });
    await expect(fetch(`http://${ops}/readyz`)).resolves.toMatchObject({ status: 503 });
    await expect(service.stop()).resolves.toMatchObject({ exitCode: 0, stderr: '' });
    expect(messagesOf(service).slice(-2)).toEqual(['stopping', 'stopped']);
  });

  itOn(engines.slice(1))('it and a migration start as soon as $name is reachable', async (engine) => {
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
    await expect(createOver(await httpUrlOf(service))).resolves.toMatchObject({ status: 201 });
    await service.stop();
    await proxy.close();
    await database.drop();
  });
});

it('an uncaught error is logged once with its stack, ends the service with exit code 1 and loses no create', async () => {
  const settings = { NODE_OPTIONS: `--import ${FAULTY}` };
  const ends = async (service: Program, signal: NodeJS.Signals): Promise<void> => {
    await expect(service.stop(signal)).resolves.toMatchObject({ exitCode: 1, stderr: '' });
    expect(service.lines().filter(({ level }) => level === 'fatal')).toMatchObject([
      {
        msg: 'uncaught error: exiting',
        err: { message: 'unforeseen', stack: expect.stringContaining('at ') as unknown },
      },
    ]);
  };
  const first = run(settings);
  const response = await createOver(await httpUrlOf(first));
  const route = (await response.json()) as { id: string };
  await ends(first, 'SIGUSR2');
  const second = run(settings);
  await expect(getOver(await httpUrlOf(second), route.id)).resolves.toEqual(route);
  await ends(second, 'SIGWINCH');
});

it('a log that cannot be written neither stops the service nor keeps it from stopping', async () => {
  const address = `127.0.0.1:${await freePort()}`;
  // The service cannot write a single byte to any file.
  const script = 'ulimit -f 0 && exec "$0" --import "$1" "$2" > log';
  const service = spawn('sh', ['-c', script, process.execPath, LEASH, join(buildFolder(), 'main.js')], {
    cwd: programs.folder,
    env: { ...SERVICE_SETTINGS, HTTP_ADDRESS: address, DATABASE_URL: 'sqlite::memory:', LOG_LEVEL: 'debug' },
    stdio: 'pipe',
  });
  const ended = once(service, 'close');
  onTestFinished(() => void service.kill('SIGKILL'));
  const createStatus = async (): Promise<number> => (await createOver(`http://${address}`)).status;
  await expect.poll(() => createStatus().catch(() => 0), { timeout: 20_000 }).toBe(201);
  await expect(createStatus()).resolves.toBe(201);
  service.kill('SIGTERM');
  await expect(ended).resolves.toEqual([0, null]);
});
