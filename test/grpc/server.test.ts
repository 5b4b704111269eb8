import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { deflateSync, gzipSync } from 'node:zlib';
import { credentials, status } from '@grpc/grpc-js';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  HealthCheckResponse_ServingStatus as ServingStatus,
  HealthClient,
} from '../../src/gen/healthcheck.js';
import { REFLECTION_PATHS } from '../../src/grpc/reflection.js';
import { callRaw, frameMessage } from '../support/http2-call.js';
import { errorInfoOf, richErrorOfReply } from '../support/rich-error.js';
import { ECHO, startTestServer, type TestServer } from '../support/test-grpc-server.js';

/** A new one for each test, which is closed at the test's end. */
let server: TestServer;

beforeEach(async () => {
  server = await startTestServer();
});

const MESSAGE = frameMessage(Buffer.from('m'));
const GZIP = { 'grpc-encoding': 'gzip' };
const DEFLATE = { 'grpc-encoding': 'deflate' };

/** Requests that the pipeline refuses only because of these parts. */
const refused: readonly (readonly [
  title: string,
  parts: { readonly path?: string; readonly headers?: Record<string, string>; readonly body?: Buffer },
  code: status,
  reason: string,
])[] = [
  [
    'a message that inflates above the limit',
    { headers: GZIP, body: frameMessage(gzipSync(Buffer.alloc(100_000)), true) },
    status.RESOURCE_EXHAUSTED,
    'REQUEST_TOO_LARGE',
  ],
  ['no message', { body: Buffer.alloc(0) }, status.INVALID_ARGUMENT, 'REQUEST_MALFORMED'],
  ['two messages', { body: Buffer.concat([MESSAGE, MESSAGE]) }, status.INVALID_ARGUMENT, 'REQUEST_MALFORMED'],
  [
    "a forged header for the server's own use",
    { path: '/unknown.Service/Method', headers: { 'x-unknown-path': '/grpc.health.v1.Health/Check' } },
    status.UNIMPLEMENTED,
    'PATH_UNKNOWN',
  ],
];

describe('a request with', () => {
  it.each(refused)(
    '%s is refused with a documented reason',
    async (_, { path = ECHO, headers, body = MESSAGE }, code, reason) => {
      const metadata = { 'x-request-id': 'n', ...headers };
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

  it.each([
    ['gzip', GZIP, gzipSync],
    ['deflate', DEFLATE, deflateSync],
  ])('a message compressed with %s is served', async (_, headers, compress) => {
    const outcome = await callRaw(
      server.address,
      ECHO,
      headers,
      frameMessage(compress(Buffer.from('m')), true),
    );
    expect(outcome.code).toBe(status.OK);
  });

  it('a binary request id is served under a new id', async () => {
    const metadata = { 'x-request-id': '\u00ff' };
    const { code, trailers } = await callRaw(server.address, ECHO, metadata, MESSAGE);
    expect(code).toBe(status.OK);
    expect(trailers.get('x-request-id')).toEqual([expect.stringMatching(/^[0-9a-f-]{36}$/)]);
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

  function check(service: string): Promise<{ readonly error: status } | { readonly serving: ServingStatus }> {
    return new Promise((done) =>
      client.check({ service }, (error, response) => {
        done(error === null ? { serving: response.status } : { error: error.code });
      }),
    );
  }

  it.each(['', 'test.Service'])('is what it was set to: "%s"', async (service) => {
    await expect(check(service)).resolves.toEqual({ serving: ServingStatus.NOT_SERVING });
    server.health.setServing(true);
    await expect(check(service)).resolves.toEqual({ serving: ServingStatus.SERVING });
    server.health.setServing(false);
    await expect(check(service)).resolves.toEqual({ serving: ServingStatus.NOT_SERVING });
  });

  it.each(['constructor', '__proto__', 'routing.v1', 'routing.v1.RouteService.x'])(
    'is NOT_FOUND for the unknown service "%s"',
    async (service) => {
      await expect(check(service)).resolves.toEqual({ error: status.NOT_FOUND });
    },
  );

  it.each(['', 'test.Service'])(
    'is sent to a watcher only when it changes, and NOT_SERVING at the close: "%s"',
    async (service) => {
      const stream = client.watch({ service });
      const heard: unknown[] = [];
      stream.on('data', ({ status: told }: { status: ServingStatus }) => heard.push(told));
      await once(stream, 'data');
      for (const serving of [false, true, true]) server.health.setServing(serving);
      const ended = once(stream, 'end');
      await server.close(10_000);
      await ended;
      expect(heard).toEqual([ServingStatus.NOT_SERVING, ServingStatus.SERVING, ServingStatus.NOT_SERVING]);
    },
  );

  it.each(['constructor', 'other'])(
    'is SERVICE_UNKNOWN for a watcher of the unknown service "%s"',
    async (service) => {
      const stream = client.watch({ service });
      const [first] = (await once(stream, 'data')) as unknown[];
      expect(first).toEqual({ status: ServingStatus.SERVICE_UNKNOWN });
      stream.on('error', () => undefined).cancel();
    },
  );

  it('sends only NOT_SERVING to a watch that begins after the close', async () => {
    server.health.close();
    const stream = client.watch({ service: '' });
    const heard: unknown[] = [];
    stream.on('data', (response) => heard.push(response));
    await once(stream, 'end');
    expect(heard).toEqual([{ status: ServingStatus.NOT_SERVING }]);
  });
});

it('reflection can be switched off', async () => {
  const hidden = await startTestServer({ reflection: false });
  const codes = REFLECTION_PATHS.map(async (path) => (await callRaw(hidden.address, path, {}, MESSAGE)).code);
  expect(await Promise.all(codes)).toEqual([status.UNIMPLEMENTED, status.UNIMPLEMENTED]);
});

describe('a server', () => {
  it('does not replace a file that is not a socket', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'unix-'));
    const file = join(folder, 'file');
    writeFileSync(file, 'precious');
    await expect(startTestServer({ address: `unix:${file}` })).rejects.toThrow();
    expect(readFileSync(file, 'utf8')).toBe('precious');
    rmSync(folder, { recursive: true });
  });
});
