import { once } from 'node:events';
import { readdirSync, statSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { credentials } from '@grpc/grpc-js';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { RouteServiceClient } from '../../src/gen/routing/v1/route_service.js';
import { freePort } from '../support/free-port.js';
import { moduleUrl, type Program, Programs } from '../support/process.js';
import { get, metadataOf, SERVICE_SETTINGS, tokenFor } from '../support/service.js';

/** Without the listener for operators, which has tests of its own. */
const SETTINGS = { ...SERVICE_SETTINGS, OPS_ADDRESS: 'off' };
const ROUTE = { method: 'GET', path: '/', handler: 'h' };
/** Connections made at once; which workers take them is up to chance. */
const CONNECTIONS = 8;
const STRANGERS_REQUEST = 'GET /v1/routing/x HTTP/1.1\r\nHost: x\r\n\r\n';
const ALL_GOOD = Array.from({ length: CONNECTIONS }, () => 200);
/** Longer than the time in which a signal repeats the first one. */
const LATER_MS = 1_200;
/** Longer than any test waits. */
const NEVER_MS = '600000';
/** Until something has happened, also where other tests run, in milliseconds. */
const PATIENCE = { timeout: 60_000 };

vi.setConfig({ testTimeout: 2 * PATIENCE.timeout });

/** Ends the second worker as soon as it starts. */
const SECOND_ENDS = preload(`if (process.env.WORKER_NUMBER === '2') process.exit(3);`);
/** Lets the second worker do nothing more once it is to stop. */
const SECOND_STICKS = secondLingers('Infinity');
/** Keeps the second worker for a while once it is to stop, as a call under way does. */
const SECOND_LINGERS = secondLingers('1000');
/** Lets the second worker end without closing anything once it is to stop. */
const SECOND_FAILS = preload(`
  if (process.env.WORKER_NUMBER === '2')
    process.prependListener('message', ({ kind }) => kind === 'stop' && process.exit(1));
`);
/** Lets workers go on when this test does not hold their stdin any more. */
const UNLEASHED = preload(`
  if (process.env.WORKER_NUMBER !== undefined) setImmediate(() => process.stdin.removeAllListeners('close'));
`);

/** Logs each process that the primary process starts. */
const FORKS_SHOWN = preload(`
  import cluster from 'node:cluster';
  if (cluster.isPrimary) cluster.on('fork', () => console.log('{"msg":"forked"}'));
`);

/** Stops the second worker's thread for so many milliseconds once it is to stop. */
function secondLingers(ms: string): string {
  return preload(`
    const cell = new Int32Array(new SharedArrayBuffer(4));
    if (process.env.WORKER_NUMBER === '2')
      process.prependListener('message', ({ kind }) => kind === 'stop' && Atomics.wait(cell, 0, 0, ${ms}));
  `);
}

function preload(script: string): string {
  return `--import ${moduleUrl(script)}`;
}

let programs: Programs;

beforeEach(() => {
  programs = new Programs();
});

afterEach(() => programs.end());

/** Starts the service with two workers, if the settings ask for no other number, as the leader of a group. */
function run(
  settings: Record<string, string> = SERVICE_SETTINGS,
  name = 'main',
  args: string[] = [],
): Program {
  return programs.start(name, args, { WORKERS: '2', ...settings }, true);
}

interface Listening {
  readonly grpc: string;
  readonly http: string;
}

async function listening(program: Program): Promise<Listening> {
  return (await program.line('listening')) as unknown as Listening;
}

/** Calls over a connection of its own. */
function call(url: string, init: RequestInit, token: string): Promise<Response> {
  const headers = {
    authorization: `Bearer ${token}`,
    'content-type': 'application/json',
    connection: 'close',
  };
  return fetch(url, { ...init, headers });
}

async function createOver(http: string, token = tokenFor()): Promise<{ id: string }> {
  const response = await call(`${http}/v1/routing`, { method: 'POST', body: JSON.stringify(ROUTE) }, token);
  expect(response.status).toBe(201);
  return (await response.json()) as { id: string };
}

/** The status of a get over each of several new connections. */
function getOften(http: string, id: string, token = tokenFor()): Promise<number[]> {
  const responses = ALL_GOOD.map(() => call(`${http}/v1/routing/${id}`, {}, token));
  return Promise.all(responses.map(async (response) => (await response).status));
}

/** Several connections that stay open. */
async function open(host: string, count: number): Promise<Socket[]> {
  const [name = '', port] = host.split(':');
  const sockets = Array.from({ length: count }, () =>
    connect(Number(port), name).on('error', () => undefined),
  );
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
  });
  await Promise.all(sockets.map((socket) => once(socket, 'connect')));
  return sockets;
}

/** The first line of an answer over an open connection, to a stranger. */
async function ask(socket: Socket): Promise<string> {
  socket.write(STRANGERS_REQUEST);
  const [answer] = (await once(socket, 'data')) as [Buffer];
  return answer.toString().split('\r\n')[0] ?? '';
}

type Line = Record<string, unknown>;

function linesOf(program: Program, message: string): Line[] {
  return program.lines().filter(({ msg }) => msg === message);
}

/** The numbers of the workers that have lines about calls. */
function calledWorkers(program: Program): unknown[] {
  const lines = program.lines().filter(({ requestId }) => requestId !== undefined);
  return [...new Set(lines.map(({ worker }) => worker))].sort();
}

/** Calls until each of these workers has been called. */
async function callAll(
  program: Program,
  workers: readonly number[],
  calls: () => Promise<number[]>,
): Promise<void> {
  const statuses = new Set<number>();
  const called = async (): Promise<unknown[]> => {
    for (const status of await calls()) statuses.add(status);
    return calledWorkers(program);
  };
  await expect.poll(called, PATIENCE).toEqual(workers);
  expect(statuses).toEqual(new Set([200]));
}

/** The processes that have served as a worker, oldest first. */
function pidsOf(program: Program, number: number): number[] {
  const serving = linesOf(program, 'a worker serves').filter(({ worker }) => worker === number);
  return serving.map(({ workerPid }) => Number(workerPid));
}

function timeOf({ time }: Line): number {
  return Date.parse(String(time));
}

describe('two workers', () => {
  it('share the ports of both faces, and their lines carry their numbers', async () => {
    const service = run();
    const { grpc, http } = await listening(service);
    const { id } = await createOver(http);
    await callAll(service, [1, 2], () => getOften(http, id));
    const options = { 'grpc.use_local_subchannel_pool': 1 };
    const clients = ALL_GOOD.map(() => new RouteServiceClient(grpc, credentials.createInsecure(), options));
    const gets = await Promise.all(clients.map((client) => get(client, id, metadataOf(tokenFor()))));
    for (const client of clients) client.close();
    expect(gets.map(({ route }) => route?.id)).toEqual(clients.map(() => id));
    expect(linesOf(service, 'listening')).toMatchObject([{ workers: 2 }]);
  });

  it('share a unix socket, also one that a killed service left behind', async () => {
    const settings = { ...SETTINGS, GRPC_ADDRESS: `unix:${programs.folder}/s` };
    const first = run({ ...settings, WORKERS: '1' });
    await listening(first);
    await first.stop('SIGKILL');
    const { grpc, http } = await listening(run(settings));
    const { id } = await createOver(http);
    const client = new RouteServiceClient(grpc, credentials.createInsecure());
    const { route } = await get(client, id, metadataOf(tokenFor()));
    client.close();
    expect(route?.id).toBe(id);
  });

  it('heed MAX_CONNECTIONS each: a further connection is closed at once', async () => {
    const { grpc, http } = await listening(run({ ...SETTINGS, MAX_CONNECTIONS: '2' }));
    // The gRPC server speaks first, the HTTP server is asked.
    for (const [host, first] of [
      [grpc, ''],
      [new URL(http).host, STRANGERS_REQUEST],
    ] as const) {
      let kept = 0;
      const openMore = async (): Promise<number> => {
        const sockets = await open(host, CONNECTIONS);
        for (const socket of sockets) socket.write(first);
        // A refused one may end with an error, at which "once" would reject.
        const heard = (socket: Socket): Promise<unknown> =>
          new Promise((resolve) => socket.on('data', resolve).on('close', resolve));
        await Promise.all(sockets.map(heard));
        kept += sockets.filter(({ bytesRead }) => bytesRead > 0).length;
        return kept;
      };
      await expect.poll(openMore, PATIENCE).toBe(4);
      await expect(openMore()).resolves.toBe(4);
    }
  });
});

it('four workers begin in an empty folder with one schema, one secret and one hint', async () => {
  const service = run({
    WORKERS: '4',
    GRPC_ADDRESS: '127.0.0.1:0',
    HTTP_ADDRESS: '127.0.0.1:0',
    OPS_ADDRESS: 'off',
  });
  const { http } = await listening(service);
  const { stdout } = await run({}, 'token', ['--scope', 'routes:read routes:write', '--sub', 'me']).ended;
  const { id } = await createOver(http, stdout.trim());
  await callAll(service, [1, 2, 3, 4], () => getOften(http, id, stdout.trim()));
  const secrets = readdirSync(join(programs.folder, 'data')).filter((name) => name.startsWith('jwt'));
  expect(secrets).toEqual(['jwt-secret']);
  expect(service.stderr.split('Try it from a second terminal')).toHaveLength(2);
});

describe('a worker that', () => {
  it('is killed costs its own connections alone, and is replaced', async () => {
    // The lines about strangers show which connections it has.
    const service = run({ ...SETTINGS, MAX_REFUSALS_LOGGED: '1000' });
    const { http } = await listening(service);
    const sockets: Socket[] = [];
    const answers: string[] = [];
    const askMore = async (): Promise<unknown[]> => {
      const more = await open(new URL(http).host, CONNECTIONS);
      sockets.push(...more);
      answers.push(...(await Promise.all(more.map(ask))));
      return calledWorkers(service);
    };
    await expect.poll(askMore, PATIENCE).toEqual([1, 2]);
    const calls = (): Line[] => service.lines().filter(({ requestId }) => requestId !== undefined);
    await expect.poll(() => calls().length, PATIENCE).toBe(sockets.length);
    const ofTheOther = calls().filter(({ worker }) => worker === 1).length;
    process.kill(Number(pidsOf(service, 2)[0]), 'SIGKILL');
    const left = (): Socket[] => sockets.filter(({ closed }) => !closed);
    await expect.poll(left, PATIENCE).toHaveLength(ofTheOther);
    await expect(Promise.all(left().map(ask))).resolves.toEqual(answers.slice(0, ofTheOther));
    await service.line('a worker has ended unexpectedly');
    const { id } = await createOver(http);
    await expect(getOften(http, id)).resolves.toEqual(ALL_GOOD);
    await expect.poll(() => pidsOf(service, 2), PATIENCE).toHaveLength(2);
    await expect(getOften(http, id)).resolves.toEqual(ALL_GOOD);
    expect(linesOf(service, 'a worker has ended unexpectedly')).toMatchObject([
      { worker: 2, level: 'error', signal: 'SIGKILL' },
    ]);
  });

  it('gets a signal to stop is replaced first, and then ends in order', async () => {
    const service = run();
    const { http } = await listening(service);
    const { id } = await createOver(http);
    process.kill(Number(pidsOf(service, 1)[0]), 'SIGTERM');
    await service.line('stopped');
    const [, successor = {}] = linesOf(service, 'a worker serves').filter(({ worker }) => worker === 1);
    const [stopping = {}] = linesOf(service, 'stopping');
    expect([stopping['worker'], linesOf(service, 'stopped')]).toMatchObject([1, [{ worker: 1 }]]);
    expect(timeOf(successor)).toBeLessThanOrEqual(timeOf(stopping));
    await expect(getOften(http, id)).resolves.toEqual(ALL_GOOD);
    expect(service.lines().filter(({ level }) => level !== 'info')).toEqual([]);
  });

  it('ends again and again is replaced after pauses that grow, while the other one serves', async () => {
    const service = run({ ...SETTINGS, NODE_OPTIONS: SECOND_ENDS });
    const { http } = await listening(service);
    const { id } = await createOver(http);
    const ends = (): Line[] => linesOf(service, 'a worker has ended unexpectedly');
    await expect.poll(() => ends().length, PATIENCE).toBeGreaterThan(3);
    await expect(getOften(http, id)).resolves.toEqual(ALL_GOOD);
    const times = ends().map(timeOf);
    const pauses = times.slice(1, 4).map((time, i) => time - Number(times[i]));
    for (const [i, least] of [250, 500, 1_000].entries()) expect(pauses[i]).toBeGreaterThanOrEqual(least);
    expect(ends()[0]).toMatchObject({ worker: 2, exitCode: 3 });
    await expect(service.stop()).resolves.toMatchObject({ exitCode: 0 });
  });

  it('does not stop is killed when everything should be closed', async () => {
    const service = run({ ...SETTINGS, NODE_OPTIONS: SECOND_STICKS });
    await listening(service);
    await expect(service.stop()).resolves.toMatchObject({ exitCode: 0 });
    const warnings = service.lines().filter(({ level }) => level === 'warn');
    expect(warnings).toMatchObject([
      { worker: 2, msg: 'a worker did not stop in time, and was killed' },
      { msg: 'not everything could be closed in time' },
    ]);
  });

  it('fails to close everything is told by exit code 1, after the others have closed', async () => {
    const service = run({ ...SETTINGS, NODE_OPTIONS: SECOND_FAILS });
    await listening(service);
    await expect(service.stop()).resolves.toMatchObject({ exitCode: 1 });
    expect(linesOf(service, 'stopped')).toMatchObject([{ worker: 1 }]);
    expect(service.lines().at(-1)).toMatchObject({ msg: 'not everything could be closed' });
  });
});

describe('a start that fails with workers ends with the words and the exit code of one process', () => {
  it('where a port is taken', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    onTestFinished(() => void other.close());
    await once(other, 'listening');
    const taken = `127.0.0.1:${(other.address() as AddressInfo).port}`;
    const { exitCode, stderr } = await run({ ...SETTINGS, HTTP_ADDRESS: taken }).ended;
    expect(exitCode).toBe(1);
    expect(stderr).toBe(
      `The service cannot start: Cannot listen on HTTP_ADDRESS=${taken}: another program uses it, perhaps another copy of this service.\n`,
    );
  });

  it('where the database is away', async () => {
    const settings = { ...SETTINGS, DATABASE_URL: `mysql://me@127.0.0.1:${await freePort()}/routes` };
    const [several, one] = await Promise.all([run(settings).ended, run({ ...settings, WORKERS: '1' }).ended]);
    expect(several).toEqual({ exitCode: 1, stdout: '', stderr: one.stderr });
    expect(one.stderr).toMatch(/^The service cannot start: The database named by DATABASE_URL cannot/);
  });
});

describe('no worker outlives', () => {
  it('its primary process, however that ends', async () => {
    const service = run({ ...SETTINGS, NODE_OPTIONS: UNLEASHED });
    await listening(service);
    await expect(service.stop('SIGKILL')).resolves.toMatchObject({ exitCode: null });
    expect(linesOf(service, 'stopping')).toEqual([]);
  });

  it('a second signal, even if it hangs', async () => {
    const service = run({ ...SETTINGS, DRAIN_DELAY_MS: NEVER_MS, NODE_OPTIONS: SECOND_STICKS });
    await listening(service);
    void service.stop();
    await service.line('not serving');
    await delay(LATER_MS);
    await expect(service.stop()).resolves.toMatchObject({ exitCode: 143 });
  });
});

describe('a signal to stop', () => {
  it('ends all workers in order, with everything in one file', async () => {
    const service = run();
    const { http } = await listening(service);
    await createOver(http);
    await expect(service.stop()).resolves.toMatchObject({ exitCode: 0, stderr: '' });
    expect(linesOf(service, 'stopped').map(({ worker }) => worker)).toEqual(
      expect.arrayContaining([1, 2, undefined]),
    );
    expect(service.lines().at(-1)).toMatchObject({ msg: 'stopped' });
    expect(service.lines().at(-1)).not.toHaveProperty('worker');
    expect(service.lines().filter(({ level }) => level !== 'info')).toEqual([]);
    expect(statSync(join(programs.folder, 'data/routes.db-wal')).size).toBe(0);
  });

  it('starts no further worker while the slowest one ends', async () => {
    const service = run({ ...SETTINGS, NODE_OPTIONS: `${SECOND_LINGERS} ${FORKS_SHOWN}` });
    await listening(service);
    await expect(service.stop()).resolves.toMatchObject({ exitCode: 0 });
    expect(linesOf(service, 'forked')).toHaveLength(2);
  });

  it('to all processes of a group stops each of them once, and starts no other', async () => {
    const service = run({ ...SETTINGS, NODE_OPTIONS: `${SECOND_LINGERS} ${FORKS_SHOWN}` });
    await listening(service);
    process.kill(-service.pid, 'SIGINT');
    await expect(service.ended).resolves.toMatchObject({ exitCode: 0 });
    expect(linesOf(service, 'stopping')).toHaveLength(3);
    expect(linesOf(service, 'stopped')).toHaveLength(3);
    expect(linesOf(service, 'forked')).toHaveLength(2);
  });
});
