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
import { createPipeline } from '../../src/calls/pipeline.js';
import type { Method } from '../../src/calls/call.js';
import { type GrpcServer, startGrpcServer } from '../../src/grpc/server.js';
import { bytesMethod } from '../support/bytes-method.js';
import { LIMITS } from '../support/grpc-limits.js';
import { frameTypes, grpcHead, sendFields } from '../support/http2-frames.js';
import { callRaw, framed } from '../support/http2-call.js';
import { pipelineOptions } from '../support/pipeline-options.js';
import { errorInfoOf, richErrorOfReply } from '../support/rich-error.js';

const SERVICE = 'routing.v1.RouteService';
const ECHO = '/test.Service/Echo';
const SLOW = '/test.Service/Slow';
/** The type of the frame that begins a response (RFC 9113, section 6.2). */
const HEADERS = 0x1;
const silent = pino({ level: 'silent' });

const methods: Method[] = [
  bytesMethod(ECHO, { scope: 's' }, (message) => Promise.resolve(message)),
  bytesMethod(SLOW, 'public', () => {
    arrive();
    return new Promise(() => undefined);
  }),
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
  const known = { ok: true, caller, rememberUntilMs: 0 } as const;
  const unauthenticated = { ok: false, reason: 'TOKEN_MISSING', message: 'No token.' } as const;
  const authenticator = {
    authenticate: (token: string) => (token === '' ? unauthenticated : known),
  };
  return startGrpcServer({
    address,
    methods: all,
    pipeline: createPipeline(all, pipelineOptions({ authenticator }, silent)),
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

const MESSAGE = framed(Buffer.from('m'));
const GZIP = { 'grpc-encoding': 'gzip' };
const DEFLATE = { 'grpc-encoding': 'deflate' };

/** Requests that the pipeline refuses only because of the given parts. */
const refused: readonly (readonly [
  title: string,
  given: { readonly path?: string; readonly headers?: Record<string, string>; readonly body?: Buffer },
  code: status,
  reason: string,
])[] = [
  [
    'a message above the limit',
    { body: framed(Buffer.alloc(65_537)) },
    status.RESOURCE_EXHAUSTED,
    'REQUEST_TOO_LARGE',
  ],
  [
    'a message that inflates above the limit',
    { headers: GZIP, body: framed(gzipSync(Buffer.alloc(100_000)), true) },
    status.RESOURCE_EXHAUSTED,
    'REQUEST_TOO_LARGE',
  ],
  ['no message', { body: Buffer.alloc(0) }, status.INVALID_ARGUMENT, 'REQUEST_MALFORMED'],
  ['two messages', { body: Buffer.concat([MESSAGE, MESSAGE]) }, status.INVALID_ARGUMENT, 'REQUEST_MALFORMED'],
  [
    'a timeout that passes',
    { path: SLOW, headers: { 'grpc-timeout': '10m' } },
    status.DEADLINE_EXCEEDED,
    'DEADLINE_EXCEEDED',
  ],
  ['a path with odd characters', { path: '/%ff%00//?x=1#' }, status.UNIMPLEMENTED, 'PATH_UNKNOWN'],
  [
    "a forged header for the server's own use",
    { path: '/unknown.Service/Method', headers: { 'x-unknown-path': '/grpc.health.v1.Health/Check' } },
    status.UNIMPLEMENTED,
    'PATH_UNKNOWN',
  ],
];

/** Requests that grpc-js itself refuses, with its own messages. */
const refusedBelow: readonly (readonly [
  title: string,
  headers: Record<string, string>,
  body: Buffer,
  code: status,
])[] = [
  ['a message of more than twice the limit', {}, framed(Buffer.alloc(131_073)), status.RESOURCE_EXHAUSTED],
  [
    'a message that declares a length of four gigabytes',
    {},
    Buffer.from([0, 255, 255, 255, 255, 1]),
    status.RESOURCE_EXHAUSTED,
  ],
  [
    'a message that inflates far above the limit',
    DEFLATE,
    framed(deflateSync(Buffer.alloc(1_000_000)), true),
    status.RESOURCE_EXHAUSTED,
  ],
  ['a message that cannot be inflated', GZIP, framed(Buffer.from('x'), true), status.INTERNAL],
  [
    'an unknown compression',
    { 'grpc-encoding': 'lzma' },
    framed(Buffer.from('x'), true),
    status.UNIMPLEMENTED,
  ],
  ['an invalid timeout', { 'grpc-timeout': 'soon' }, MESSAGE, status.INTERNAL],
];

describe('a request with', () => {
  it.each(refused)(
    '%s is refused with a documented reason',
    async (_, { path = ECHO, headers, body = MESSAGE }, code, reason) => {
      const metadata = { authorization: 'known', 'x-request-id': 'n', ...headers };
      const outcome = await callRaw(server.address, path, metadata, body);
      expect(outcome.code).toBe(code);
      expect(outcome.trailers.get('x-request-id')).toEqual(['n']);
      const rich = richErrorOfReply(outcome);
      expect(errorInfoOf(rich)).toMatchObject({ reason, domain: 'routing.v1' });
      expect(rich.details).toContainEqual({
        '@type': 'type.googleapis.com/google.rpc.RequestInfo',
        requestId: 'n',
      });
    },
  );

  it.each(refused.filter(([, { path }]) => path === undefined))(
    '%s tells an unauthenticated client nothing',
    async (_, { headers = {}, body = MESSAGE }) => {
      const outcome = await callRaw(server.address, ECHO, headers, body);
      expect(errorInfoOf(richErrorOfReply(outcome)).reason).toBe('TOKEN_MISSING');
    },
  );

  it.each(refusedBelow)('%s is refused by grpc-js', async (_, headers, body, code) => {
    const outcome = await callRaw(server.address, ECHO, { authorization: 'known', ...headers }, body);
    expect(outcome.code).toBe(code);
  });

  it.each([
    ['gzip', GZIP, gzipSync],
    ['deflate', DEFLATE, deflateSync],
  ])('a message compressed with %s is served', async (_, headers, compress) => {
    const metadata = { authorization: 'known', ...headers };
    const outcome = await callRaw(server.address, ECHO, metadata, framed(compress(Buffer.from('m')), true));
    expect(outcome.code).toBe(status.OK);
  });

  it('a binary request id is served under a new id', async () => {
    const metadata = { authorization: 'known', 'x-request-id': '\u00ff' };
    const { code, trailers } = await callRaw(server.address, ECHO, metadata, MESSAGE);
    expect(code).toBe(status.OK);
    expect(trailers.get('x-request-id')).toEqual([expect.stringMatching(/^[0-9a-f-]{36}$/)]);
  });
});

describe('a server', () => {
  it('ends a call whose request never completes at its deadline', async () => {
    const limited = await start('127.0.0.1:0', true, 1);
    const unfinished = sendFields(limited.address, grpcHead(ECHO), undefined);
    let received = Buffer.alloc(0);
    unfinished.on('data', (data: Buffer) => (received = Buffer.concat([received, data])));
    await expect.poll(() => frameTypes(received)).toContain(HEADERS);
    unfinished.destroy();
    await limited.close(1_000);
  });

  it('keeps serving after garbage', async () => {
    const metadata = { authorization: 'known' };
    await callRaw(server.address, ECHO, metadata, Buffer.from('garbage'));
    expect((await callRaw(server.address, ECHO, metadata, MESSAGE)).code).toBe(status.OK);
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

  it.each(['', SERVICE])('follows the store: "%s"', async (service) => {
    await expect(check(service)).resolves.toBe(ServingStatus.NOT_SERVING);
    health.setServing(true);
    await expect(check(service)).resolves.toBe(ServingStatus.SERVING);
    health.setServing(false);
    await expect(check(service)).resolves.toBe(ServingStatus.NOT_SERVING);
  });

  it.each(['constructor', '__proto__', 'routing.v1', 'routing.v1.RouteService.x'])(
    'is NOT_FOUND for the unknown service "%s"',
    async (service) => {
      await expect(check(service)).resolves.toBe(status.NOT_FOUND);
    },
  );

  it.each(['', SERVICE])('can be watched: "%s"', async (service) => {
    const stream = client.watch({ service });
    const next = async (): Promise<unknown> => ((await once(stream, 'data')) as unknown[])[0];
    await expect(next()).resolves.toEqual({ status: ServingStatus.NOT_SERVING });
    const changed = next();
    health.setServing(true);
    await expect(changed).resolves.toEqual({ status: ServingStatus.SERVING });
    stream.on('error', () => undefined).cancel();
  });

  it('is sent to a watcher only when it changes', async () => {
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
    'is SERVICE_UNKNOWN for a watcher of the unknown service "%s"',
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

  it('sends only NOT_SERVING to a watch that begins after the close', async () => {
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
    'lets a client list and call methods with only the address: %s',
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
  it('does not replace a file that is not a socket', async () => {
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

  it('waits no longer than the grace period for a call when it closes', async () => {
    const client = new Client(server.address, credentials.createInsecure());
    const same = (bytes: Buffer): Buffer => bytes;
    const call = client.makeUnaryRequest(SLOW, same, same, Buffer.alloc(0), () => undefined);
    await arrived;
    await expect(server.close(1)).resolves.toBeUndefined();
    call.cancel();
    client.close();
  });
});
