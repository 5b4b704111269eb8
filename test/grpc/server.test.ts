import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { deflateSync, gzipSync } from 'node:zlib';
import { Client, credentials, status } from '@grpc/grpc-js';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  HealthCheckResponse_ServingStatus as ServingStatus,
  HealthClient,
} from '../../src/gen/healthcheck.js';
import { Health } from '../../src/grpc/health.js';
import { createInterceptors } from '../../src/calls/interceptors.js';
import type { Method } from '../../src/calls/method.js';
import { createPipeline } from '../../src/calls/pipeline.js';
import { type GrpcServer, startGrpcServer } from '../../src/grpc/server.js';
import { LIMITS } from '../support/grpc-limits.js';
import { frameTypes, grpcHead, sendFields } from '../support/http2-frames.js';
import { callRaw, framed } from '../support/http2-call.js';
import { interceptorOptions } from '../support/interceptor-options.js';
import { errorInfoOf, richErrorOfReply } from '../support/rich-error.js';

const SERVICE = 'routing.v1.RouteService';
const ECHO = '/test.Service/Echo';
const SLOW = '/test.Service/Slow';
/** The frame that begins an answer (RFC 9113, section 6.2). */
const HEADERS = 0x1;
const silent = pino({ level: 'silent' });

const methods: Method[] = [
  { path: ECHO, access: { scope: 's' }, run: (message) => Promise.resolve(message) },
  {
    path: SLOW,
    access: 'public',
    run: () => {
      arrive();
      return new Promise(() => undefined);
    },
  },
];

/** Resolves when a slow call has reached its method. */
let arrived: Promise<void>;
let arrive: () => void;

let health: Health;
let server: GrpcServer;

async function start(address = '127.0.0.1:0', reflection = true, deadlineMs = 60_000): Promise<GrpcServer> {
  health = new Health([SERVICE]);
  const all = [...methods, ...health.methods()];
  const caller = { subject: 'me', scopes: new Set(['s']) };
  const authenticator = { authenticate: () => ({ ok: true, caller, rememberUntilMs: 0 }) as const };
  const interceptors = createInterceptors(interceptorOptions({ authenticator }, silent));
  return startGrpcServer({
    address,
    methods: all,
    pipeline: createPipeline(all, interceptors),
    health,
    reflection,
    limits: { ...LIMITS, deadlineMs },
  });
}

beforeEach(async () => {
  arrived = new Promise((resolve) => (arrive = resolve));
  server = await start();
});

afterEach(async () => {
  await server.close(1_000);
});

describe('a failure that grpc-js itself finds has the code, text and details that it has everywhere', () => {
  it.each([
    [
      'the deadline of the caller passes',
      SLOW,
      { 'grpc-timeout': '10m' },
      framed(new Uint8Array()),
      status.DEADLINE_EXCEEDED,
      'DEADLINE_EXCEEDED',
    ],
    [
      'a message is larger than grpc-js takes',
      ECHO,
      {},
      framed(new Uint8Array(65_537)),
      status.RESOURCE_EXHAUSTED,
      'REQUEST_TOO_LARGE',
    ],
    [
      'a message is larger than that when it is inflated',
      ECHO,
      { 'grpc-encoding': 'gzip' },
      framed(gzipSync(new Uint8Array(1_000_000)), true),
      status.RESOURCE_EXHAUSTED,
      'REQUEST_TOO_LARGE',
    ],
    [
      'a message is larger than that when it is inflated, as deflate',
      ECHO,
      { 'grpc-encoding': 'deflate' },
      framed(deflateSync(new Uint8Array(1_000_000)), true),
      status.RESOURCE_EXHAUSTED,
      'REQUEST_TOO_LARGE',
    ],
    [
      'a message cannot be inflated',
      ECHO,
      { 'grpc-encoding': 'gzip' },
      framed(Buffer.from('no gzip'), true),
      status.INVALID_ARGUMENT,
      'REQUEST_MALFORMED',
    ],
    [
      'a message to a method without a guard is compressed',
      '/grpc.health.v1.Health/Check',
      { 'grpc-encoding': 'gzip' },
      framed(gzipSync(new Uint8Array()), true),
      status.UNIMPLEMENTED,
      'UNSUPPORTED',
    ],
    ['there is no message', ECHO, {}, new Uint8Array(), status.INVALID_ARGUMENT, 'REQUEST_MALFORMED'],
    [
      'there are two messages',
      ECHO,
      {},
      Buffer.concat([framed(new Uint8Array(1)), framed(new Uint8Array(1))]),
      status.INVALID_ARGUMENT,
      'REQUEST_MALFORMED',
    ],
    [
      'the timeout is no timeout',
      ECHO,
      { 'grpc-timeout': 'soon' },
      framed(new Uint8Array()),
      status.INVALID_ARGUMENT,
      'REQUEST_MALFORMED',
    ],
  ])('%s', async (_, path, headers, body, code, reason) => {
    const outcome = await callRaw(server.address, path, { ...headers, 'x-request-id': 'n' }, body);
    expect(outcome.code).toBe(code);
    expect(outcome.trailers.get('x-request-id')).toEqual(['n']);
    const rich = richErrorOfReply(outcome);
    expect(errorInfoOf(rich)).toMatchObject({ reason, domain: 'routing.v1' });
    expect(rich.details).toContainEqual({
      '@type': 'type.googleapis.com/google.rpc.RequestInfo',
      requestId: 'n',
    });
  });

  it('a call that never completes ends at the limit of the server', async () => {
    const limited = await start('127.0.0.1:0', true, 1);
    const unfinished = sendFields(limited.address, grpcHead(ECHO), undefined);
    let received = Buffer.alloc(0);
    unfinished.on('data', (data: Buffer) => (received = Buffer.concat([received, data])));
    await expect.poll(() => frameTypes(received)).toContain(HEADERS);
    unfinished.destroy();
    await limited.close(1_000);
  });

  it('and the server goes on', async () => {
    await callRaw(server.address, ECHO, {}, Buffer.from('garbage'));
    await expect(callRaw(server.address, ECHO, {}, framed(Buffer.from('ok')))).resolves.toMatchObject({
      code: 0,
    });
  });
});

describe('health', () => {
  let client: HealthClient;

  beforeEach(() => {
    client = new HealthClient(server.address, credentials.createInsecure());
  });

  afterEach(() => {
    client.close();
  });

  function check(service: string): Promise<unknown> {
    return new Promise((done) =>
      client.check({ service }, (error, response) => {
        done(error?.code ?? response.status);
      }),
    );
  }

  it.each(['', SERVICE])('of "%s" follows the store', async (service) => {
    await expect(check(service)).resolves.toBe(ServingStatus.NOT_SERVING);
    health.setServing(true);
    await expect(check(service)).resolves.toBe(ServingStatus.SERVING);
    health.setServing(false);
    await expect(check(service)).resolves.toBe(ServingStatus.NOT_SERVING);
  });

  it.each(['constructor', '__proto__', 'routing.v1', 'routing.v1.RouteService.x'])(
    'knows no service "%s"',
    async (service) => {
      await expect(check(service)).resolves.toBe(status.NOT_FOUND);
    },
  );

  it.each(['', SERVICE])('of "%s" can be watched', async (service) => {
    const stream = client.watch({ service });
    const next = async (): Promise<unknown> => ((await once(stream, 'data')) as unknown[])[0];
    await expect(next()).resolves.toEqual({ status: ServingStatus.NOT_SERVING });
    const changed = next();
    health.setServing(true);
    await expect(changed).resolves.toEqual({ status: ServingStatus.SERVING });
    stream.on('error', () => undefined).cancel();
  });

  it('is not sent twice to a watcher', async () => {
    const stream = client.watch({ service: '' });
    const heard: unknown[] = [];
    stream.on('data', ({ status: told }: { status: ServingStatus }) => heard.push(told));
    await once(stream, 'data');
    for (const serving of [false, true, true, false]) health.setServing(serving);
    stream.on('error', () => undefined);
    const ended = once(stream, 'end');
    await server.close(10_000);
    await ended;
    expect(heard).toEqual([ServingStatus.NOT_SERVING, ServingStatus.SERVING, ServingStatus.NOT_SERVING]);
  });

  it.each(['constructor', 'other'])(
    'of the unknown service "%s" is SERVICE_UNKNOWN to who watches',
    async (service) => {
      const stream = client.watch({ service });
      const [first] = (await once(stream, 'data')) as unknown[];
      expect(first).toEqual({ status: ServingStatus.SERVICE_UNKNOWN });
      stream.on('error', () => undefined).cancel();
    },
  );

  it('ends its watches with NOT_SERVING when the server closes', async () => {
    health.setServing(true);
    const stream = client.watch({ service: '' });
    const heard: unknown[] = [];
    stream.on('data', (response) => heard.push(response));
    await once(stream, 'data');
    const ended = once(stream, 'end');
    await server.close(10_000);
    await ended;
    expect(heard).toEqual([{ status: ServingStatus.SERVING }, { status: ServingStatus.NOT_SERVING }]);
  });

  it('tells a later watcher only that nothing is served', async () => {
    health.close();
    const stream = client.watch({ service: '' });
    const heard: unknown[] = [];
    stream.on('data', (response) => heard.push(response));
    await once(stream, 'end');
    expect(heard).toEqual([{ status: ServingStatus.NOT_SERVING }]);
  });
});

describe('reflection', () => {
  const buf = resolve('node_modules/.bin/buf');
  const curl = async (...args: string[]): Promise<string> => {
    const { stdout } = await promisify(execFile)(buf, [
      'curl',
      '--protocol',
      'grpc',
      '--http2-prior-knowledge',
      ...args,
    ]);
    return stdout;
  };

  it.each(['grpc-v1', 'grpc-v1alpha'])(
    'lists, describes and calls with nothing but the address: %s',
    async (version) => {
      const reflect = ['--reflect', '--reflect-protocol', version];
      const url = `http://${server.address}`;
      await expect(curl(...reflect, '--list-methods', url)).resolves.toBe(
        [
          'grpc.health.v1.Health/Check',
          'grpc.health.v1.Health/Watch',
          'grpc.reflection.v1.ServerReflection/ServerReflectionInfo',
          'grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo',
          'routing.v1.RouteService/CreateRoute',
          'routing.v1.RouteService/GetRoute',
          '',
        ].join('\n'),
      );
      const answer = await curl(
        ...reflect,
        '-d',
        `{"service":"${SERVICE}"}`,
        `${url}/grpc.health.v1.Health/Check`,
      );
      expect(JSON.parse(answer)).toEqual({ status: 'NOT_SERVING' });
    },
  );

  it('can be switched off', async () => {
    const hidden = await start('127.0.0.1:0', false);
    await expect(curl('--list-services', `http://${hidden.address}`)).rejects.toThrow(/unimplemented/);
    await hidden.close(1_000);
  });
});

describe('a server', () => {
  it('does not take the place of a file that is no socket', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'unix-'));
    const file = join(folder, 'file');
    writeFileSync(file, 'precious');
    await expect(start(`unix:${file}`)).rejects.toThrow();
    expect(readFileSync(file, 'utf8')).toBe('precious');
    rmSync(folder, { recursive: true });
  });

  it('listens on a unix socket', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'rr-'));
    const local = await start(`unix:${folder}/s`);
    const client = new HealthClient(local.address, credentials.createInsecure());
    const answered = new Promise((done) =>
      client.check({ service: '' }, (_, response) => {
        done(response);
      }),
    );
    await expect(answered).resolves.toEqual({ status: ServingStatus.NOT_SERVING });
    client.close();
    await local.close(1_000);
    rmSync(folder, { recursive: true });
  });

  it('does not wait longer than its grace for a call when it closes', async () => {
    const client = new Client(server.address, credentials.createInsecure());
    const same = (bytes: Buffer): Buffer => bytes;
    const call = client.makeUnaryRequest(SLOW, same, same, Buffer.alloc(0), () => undefined);
    await arrived;
    await expect(server.close(1)).resolves.toBeUndefined();
    call.cancel();
    client.close();
  });
});
