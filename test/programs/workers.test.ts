import { once } from 'node:events';
import { readdirSync, statSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { credentials } from '@grpc/grpc-js';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, type TestContext, vi } from 'vitest';
import { RouteServiceClient } from '../../src/gen/routing/v1/route_service.js';
import { moduleUrl, type Program, Programs } from '../support/process.js';
import { get, metadataOf, SERVICE_SETTINGS, tokenFor } from '../support/service.js';

/** Without the listener for operators. */
const SETTINGS = { ...SERVICE_SETTINGS, OPS_ADDRESS: 'off' };
const ROUTE = { method: 'GET', path: '/', handler: 'h' };
/** Connections made at once; which workers take them is up to chance. */
const CONNECTIONS = 8;
const STRANGERS_REQUEST = 'GET /v1/routing/x HTTP/1.1\r\nHost: x\r\n\r\n';
const ALL_GOOD = Array.from({ length: CONNECTIONS }, () => 200);
/** Until something has happened, also where other tests run, in milliseconds. */
const PATIENCE = { timeout: 60_000 };
/** Lets workers go on when this test does not hold their stdin any more. */
const UNLEASHED = `--import ${moduleUrl(`
  if (process.env.WORKER_NUMBER !== undefined) setImmediate(() => process.stdin.removeAllListeners('close'));
`)}`;

vi.setConfig({ testTimeout: 2 * PATIENCE.timeout });

/** Starts the service in the folder with two workers, if the settings ask for no other number, as leader of a group. */
function run(
  programs: Programs,
  settings: Record<string, string>,
  name = 'main',
  args: string[] = [],
): Program {
  return programs.start(name, args, { WORKERS: '2', ...settings }, true);
}

function newPrograms({ onTestFinished: atEnd }: TestContext): Programs {
  const programs = new Programs();
  atEnd(() => programs.end());
  return programs;
}

interface Listening {
  readonly grpc: string;
  readonly http: string;
  readonly ops: string;
}

async function listenOrExplain(program: Program): Promise<Listening> {
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

function linesOf(lines: readonly Line[], message: string): Line[] {
  return lines.filter(({ msg }) => msg === message);
}

function callsIn(lines: readonly Line[]): Line[] {
  return lines.filter(({ requestId }) => requestId !== undefined);
}

/** The numbers of the workers that have lines about calls. */
function calledWorkers(lines: readonly Line[]): unknown[] {
  return [...new Set(callsIn(lines).map(({ worker }) => worker))].sort();
}

/** The processes that have served as a worker, oldest first. */
function pidsOf(program: Program, number: number): number[] {
  const serving = linesOf(program.lines(), 'a worker serves').filter(({ worker }) => worker === number);
  return serving.map(({ workerPid }) => Number(workerPid));
}

/** Sends a signal to the latest process of a worker. */
function signal(program: Program, number: number, name: NodeJS.Signals): void {
  process.kill(Number(pidsOf(program, number).at(-1)), name);
}

describe('two workers', () => {
  const programs = new Programs();
  let service: Program;
  let addresses: Listening;
  let id: string;

  beforeAll(async () => {
    // The lines about strangers show which connections a worker has.
    const settings = { DRAIN_DELAY_MS: '2000' };
    service = run(programs, { ...SERVICE_SETTINGS, ...settings });
    addresses = await listenOrExplain(service);
    ({ id } = await createOver(addresses.http));
    // Its line may come after its answer, and is not one of those that the tests count.
    await vi.waitFor(() => {
      expect(callsIn(service.lines())).toHaveLength(1);
    }, PATIENCE);
  });

  afterAll(() => programs.end());

  /** The lines from now on. */
  function linesFromNow(): () => Line[] {
    const before = service.lines().length;
    return () => service.lines().slice(before);
  }

  async function page(path: string): Promise<unknown> {
    const response = await fetch(addresses.ops + path);
    return { code: response.status, ...((await response.json()) as object) };
  }

  /** The values of a metric, with the labels before them. */
  async function metric(name: string): Promise<string[]> {
    const text = await (await fetch(`${addresses.ops}/metrics`)).text();
    return text.split('\n').filter((line) => line.startsWith(`${name}{`));
  }

  it('share the ports of both faces, and their lines and metrics carry their numbers', async () => {
    const lines = linesFromNow();
    const statuses: number[] = [];
    const called = async (): Promise<unknown[]> => {
      statuses.push(...(await getOften(addresses.http, id)));
      return calledWorkers(lines());
    };
    await expect.poll(called, PATIENCE).toEqual([1, 2]);
    expect(new Set(statuses)).toEqual(new Set([200]));
    const options = { 'grpc.use_local_subchannel_pool': 1 };
    const credential = credentials.createInsecure();
    const clients = ALL_GOOD.map(() => new RouteServiceClient(addresses.grpc, credential, options));
    const gets = await Promise.all(clients.map((client) => get(client, id, metadataOf(tokenFor()))));
    for (const client of clients) client.close();
    expect(gets.map(({ route }) => route?.id)).toEqual(clients.map(() => id));
    expect(linesOf(service.lines(), 'listening')).toMatchObject([{ workers: 2 }]);

    const rests = (await metric('http_server_request_duration_seconds_count')).filter((line) =>
      line.includes('"GET"'),
    );
    expect(rests.map((line) => /worker="(\d)"/.exec(line)?.[1]).sort()).toEqual(['1', '2']);
    const counted = rests.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
    expect(counted).toBe(statuses.length);
  });

  it('show operators both, also while one or both of them are frozen', async () => {
    const up = { 'worker 1: database': { ok: true }, 'worker 2: database': { ok: true } };
    await expect(page('/readyz')).resolves.toMatchObject({ code: 200, status: 'ready', checks: up });
    await expect(page('/livez')).resolves.toEqual({ code: 200, status: 'alive' });
    await expect(metric('process_start_time_seconds')).resolves.toHaveLength(2);
    const goOn = (): void => {
      for (const worker of [1, 2]) signal(service, worker, 'SIGCONT');
    };
    onTestFinished(goOn);
    signal(service, 2, 'SIGSTOP');
    const silent = { ok: false, state: 'no answer' };
    const checks = { 'worker 1: database': { ok: true }, 'worker 2: process': silent };
    await Promise.all([
      expect(page('/readyz')).resolves.toMatchObject({ code: 200, checks }),
      expect(page('/livez')).resolves.toEqual({ code: 200, status: 'alive' }),
      expect(metric('process_start_time_seconds')).resolves.toHaveLength(1),
      expect(metric('route_registry_ready')).resolves.toEqual([
        'route_registry_ready{worker="1"} 1',
        'route_registry_ready{worker="2"} 0',
      ]),
    ]);
    signal(service, 1, 'SIGSTOP');
    await Promise.all([
      expect(page('/readyz')).resolves.toMatchObject({ code: 503, status: 'not ready' }),
      expect(page('/livez')).resolves.toEqual({ code: 503, status: 'hanging' }),
    ]);
    goOn();
    await expect.poll(() => page('/readyz'), PATIENCE).toMatchObject({ code: 200, checks: up });
  });

  it('one that is killed costs its own connections alone, and is replaced', async () => {
    const { http } = addresses;
    const lines = linesFromNow();
    const sockets: Socket[] = [];
    onTestFinished(() => {
      for (const socket of sockets) socket.destroy();
    });
    const answers: string[] = [];
    const askMore = async (): Promise<unknown[]> => {
      const more = await open(new URL(http).host, CONNECTIONS);
      sockets.push(...more);
      answers.push(...(await Promise.all(more.map(ask))));
      return calledWorkers(lines());
    };
    await expect.poll(askMore, PATIENCE).toEqual([1, 2]);
    await expect.poll(() => callsIn(lines()), PATIENCE).toHaveLength(sockets.length);
    const ofTheOther = callsIn(lines()).filter(({ worker }) => worker === 1).length;
    signal(service, 2, 'SIGKILL');
    const left = (): Socket[] => sockets.filter(({ closed }) => !closed);
    await expect.poll(left, PATIENCE).toHaveLength(ofTheOther);
    await expect(Promise.all(left().map(ask))).resolves.toEqual(answers.slice(0, ofTheOther));
    const end = await service.line('a worker has ended unexpectedly');
    expect(end).toMatchObject({ worker: 2, level: 'error', signal: 'SIGKILL' });
    await expect(page('/readyz')).resolves.toMatchObject({
      code: 200,
      checks: { 'worker 2: process': { ok: false, state: 'starting' } },
    });
    await expect(getOften(http, id)).resolves.toEqual(ALL_GOOD);
    await expect.poll(() => pidsOf(service, 2), PATIENCE).toHaveLength(2);
    await expect(getOften(http, id)).resolves.toEqual(ALL_GOOD);
  });

  it('one that gets a signal to stop ends in order, and is replaced while the other one serves', async () => {
    const lines = linesFromNow();
    signal(service, 1, 'SIGTERM');
    await expect.poll(() => linesOf(lines(), 'stopped'), PATIENCE).toMatchObject([{ worker: 1 }]);
    await expect(getOften(addresses.http, id)).resolves.toEqual(ALL_GOOD);
    await expect.poll(() => pidsOf(service, 1), PATIENCE).toHaveLength(2);
    await expect(getOften(addresses.http, id)).resolves.toEqual(ALL_GOOD);
    expect(linesOf(lines(), 'stopping')).toMatchObject([{ worker: 1, signal: 'SIGTERM' }]);
    expect(lines().filter(({ level }) => level !== 'info')).toEqual([]);
  });

  it('each stop once at a signal to their whole group, and drain before', async () => {
    const lines = linesFromNow();
    process.kill(-service.pid, 'SIGINT');
    await expect.poll(() => linesOf(lines(), 'not serving'), PATIENCE).toHaveLength(2);
    await expect(page('/readyz')).resolves.toMatchObject({ code: 503, status: 'draining' });
    await expect(getOften(addresses.http, id)).resolves.toEqual(ALL_GOOD);
    await expect(service.ended).resolves.toMatchObject({ exitCode: 0, stderr: '' });
    expect(linesOf(lines(), 'stopping')).toHaveLength(3);
    expect(linesOf(lines(), 'stopped')).toHaveLength(3);
    expect(lines().filter(({ level }) => level !== 'info')).toEqual([]);
  });
});

/** Starts the service and freezes its second worker. */
async function withSecondFrozen(context: TestContext): Promise<Program> {
  const service = run(newPrograms(context), SETTINGS);
  await listenOrExplain(service);
  signal(service, 2, 'SIGSTOP');
  return service;
}

it.concurrent('a worker that does not stop is killed when everything should be closed', async (context) => {
  const service = await withSecondFrozen(context);
  await expect(service.stop()).resolves.toMatchObject({ exitCode: 0 });
  expect(service.lines().filter(({ level }) => level === 'warn')).toMatchObject([
    { worker: 2, msg: 'a worker did not stop in time, and was killed' },
    { msg: 'not everything could be closed in time' },
  ]);
});

it.concurrent(
  'a worker that fails to close everything is told by exit code 1, after the others have closed',
  async (context) => {
    const service = await withSecondFrozen(context);
    const ended = service.stop();
    await service.line('stopped');
    signal(service, 2, 'SIGKILL');
    await expect(ended).resolves.toMatchObject({ exitCode: 1 });
    expect(linesOf(service.lines(), 'stopped')).toMatchObject([{ worker: 1 }]);
    expect(service.lines().at(-1)).toMatchObject({ msg: 'not everything could be closed' });
  },
);

it.concurrent('a worker that hangs does not outlive a second signal', async (context) => {
  const service = await withSecondFrozen(context);
  const signals = setInterval(() => void service.stop(), 100);
  context.onTestFinished(() => {
    clearInterval(signals);
  });
  await expect(service.ended).resolves.toMatchObject({ exitCode: 143 });
});

it.concurrent(
  'a service in workers heeds MAX_CONNECTIONS in each: a further connection is closed at once',
  async (context) => {
    const service = run(newPrograms(context), { ...SETTINGS, MAX_CONNECTIONS: '2' });
    const { grpc, http } = await listenOrExplain(service);
    // The gRPC server speaks first, the HTTP server is asked.
    for (const [host, first] of [
      [grpc, ''],
      [new URL(http).host, STRANGERS_REQUEST],
    ] as const) {
      let kept = 0;
      const openMore = async (): Promise<number> => {
        const sockets = await open(host, CONNECTIONS);
        context.onTestFinished(() => {
          for (const socket of sockets) socket.destroy();
        });
        for (const socket of sockets) socket.write(first);
        // A refused one may end with an error, at which "once" would reject.
        const heard = (socket: Socket): Promise<unknown> =>
          new Promise((resolve) => socket.on('data', resolve).on('close', resolve));
        await Promise.all(sockets.map(heard));
        kept += sockets.filter(({ bytesRead }) => bytesRead > 0).length;
        return kept;
      };
      await context.expect.poll(openMore, PATIENCE).toBe(4);
      await expect(openMore()).resolves.toBe(4);
    }
  },
);

it.concurrent(
  'a service in workers begins in an empty folder with one schema, one secret and one hint, and ends with all in one file',
  async (context) => {
    const programs = newPrograms(context);
    const settings = { GRPC_ADDRESS: '127.0.0.1:0', HTTP_ADDRESS: '127.0.0.1:0', OPS_ADDRESS: 'off' };
    const service = run(programs, { ...settings, WORKERS: '4' });
    const { http } = await listenOrExplain(service);
    const { stdout } = await run(programs, {}, 'token', [
      '--scope',
      'routes:read routes:write',
      '--sub',
      'me',
    ]).ended;
    const { id } = await createOver(http, stdout.trim());
    const called = async (): Promise<unknown[]> => {
      expect(await getOften(http, id, stdout.trim())).toEqual(ALL_GOOD);
      return calledWorkers(service.lines());
    };
    await context.expect.poll(called, PATIENCE).toEqual([1, 2, 3, 4]);
    const folder = join(programs.folder, 'data');
    expect(readdirSync(folder).filter((name) => name.startsWith('jwt'))).toEqual(['jwt-secret']);
    expect(service.stderr.split('Try it from a second terminal')).toHaveLength(2);

    await expect(service.stop()).resolves.toMatchObject({ exitCode: 0 });
    const stopped = linesOf(service.lines(), 'stopped').map(({ worker }) => worker);
    expect([...stopped].sort()).toEqual([1, 2, 3, 4, undefined]);
    expect(stopped.at(-1)).toBeUndefined();
    expect(service.lines().filter(({ level }) => level !== 'info')).toEqual([]);
    expect(statSync(join(folder, 'routes.db-wal')).size).toBe(0);
  },
);

it.concurrent(
  'a service in workers ends with its primary process, however that ends, and uses the same unix socket again',
  async (context) => {
    const programs = newPrograms(context);
    const settings = { ...SETTINGS, GRPC_ADDRESS: `unix:${programs.folder}/s` };
    const first = run(programs, { ...settings, NODE_OPTIONS: UNLEASHED });
    await listenOrExplain(first);
    await expect(first.stop('SIGKILL')).resolves.toMatchObject({ exitCode: null });
    expect(linesOf(first.lines(), 'stopping')).toEqual([]);
    const { grpc, http } = await listenOrExplain(run(programs, settings));
    const { id } = await createOver(http);
    const client = new RouteServiceClient(grpc, credentials.createInsecure());
    const { route } = await get(client, id, metadataOf(tokenFor()));
    client.close();
    expect(route?.id).toBe(id);
  },
);

it.concurrent(
  'a service in workers that cannot start ends with the words and the exit code of one process',
  async (context) => {
    const other = createServer().listen(0, '127.0.0.1');
    context.onTestFinished(() => void other.close());
    await once(other, 'listening');
    const taken = `127.0.0.1:${(other.address() as AddressInfo).port}`;
    const ended = run(newPrograms(context), { ...SETTINGS, HTTP_ADDRESS: taken }).ended;
    await expect(ended).resolves.toMatchObject({
      exitCode: 1,
      stderr: `The service cannot start: Cannot listen on HTTP_ADDRESS=${taken}: another program uses it, perhaps another copy of this service.\n`,
    });
  },
);
