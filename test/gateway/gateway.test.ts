import { createServer, get } from 'node:http';
import { promisify } from 'node:util';
import { create, fromBinary, setExtension, toBinary } from '@bufbuild/protobuf';
import {
  FileDescriptorProtoSchema,
  FileDescriptorSetSchema,
  MethodOptionsSchema,
} from '@bufbuild/protobuf/wkt';
import { credentials, Metadata, status } from '@grpc/grpc-js';
import { descriptorSet } from '../../src/gen/descriptor-set.js';
import type { RequestObserver, UnaryCall, UnaryReply } from '@route-registry/transcoder';
import { grpcUpstream } from '@route-registry/transcoder/grpc-js';
import { describe, expect, it } from 'vitest';
import { now } from '../../src/gateway/upstream.js';
import { createGateway } from '../../src/gateway/gateway.js';
import type { Page } from '@route-registry/transcoder/page';
import { HealthCheckResponse, HealthCheckResponse_ServingStatus } from '../../src/gen/healthcheck.js';
import { http } from '../../packages/transcoder/src/gen/google/api/annotations_pb.js';
import { HttpRuleSchema } from '../../packages/transcoder/src/gen/google/api/http_pb.js';
import { httpRequest, reasonOf } from '../../packages/transcoder/test/support/http-request.js';
import { Deferred } from '../../packages/transcoder/test/support/deferred.js';
import { type GrpcReply, listen } from '../../packages/transcoder/test/support/grpc-server.js';
import { listening, opening } from '../../packages/transcoder/test/support/opening.js';

/** Starts a gateway under `/api` with the given upstream, until the end of the test. */
async function start(
  unary: (call: UnaryCall) => UnaryReply | Promise<UnaryReply>,
  observers: readonly RequestObserver[] = [],
  contract = descriptorSet,
) {
  const ignore = (): void => undefined;
  const gateway = createGateway({
    descriptorSet: contract,
    upstream: { unary },
    basePath: '/api',
    deadlineMs: 5_000,
    maxBodyBytes: 65_536,
    maxRequests: 1,
    realm: 'registry',
    corsOrigins: [],
    pages: [PAGE],
    log: { debug: ignore, info: ignore, warn: ignore, error: ignore },
    observers,
  });
  const server = createServer(gateway.onRequest)
    .on('clientError', gateway.onClientError)
    .on('checkContinue', gateway.onCheckContinue);
  return {
    origin: await listening(server),
    drain: gateway.drain,
    connections: promisify(server.getConnections.bind(server)),
  };
}

const unavailable: UnaryReply = {
  code: status.UNAVAILABLE,
  details: 'connect ECONNREFUSED secret',
  answered: false,
};

function health(serving: HealthCheckResponse_ServingStatus): GrpcReply {
  const message = HealthCheckResponse.encode({ status: serving }).finish();
  return { code: status.OK, details: '', answered: true, message, trailers: new Metadata() };
}

const PAGE: Page = {
  path: '/notes.txt',
  name: 'notes',
  contentType: 'text/plain; charset=utf-8',
  body: () => Buffer.from('Grüße'),
  headers: { 'Content-Security-Policy': "default-src 'none'" },
};

describe('an observer', () => {
  it.each([
    { path: '/api', template: '/api' },
    { path: '/api/notes.txt?x', template: '/api/notes.txt' },
    { path: '/api/healthz', template: '/api/healthz' },
    { path: '/api/v1/routing/7', template: '/api/v1/routing/{route_id}' },
    { path: '/api/other', template: undefined },
  ])('gets the template $template for $path', async ({ path, template }) => {
    const templates: unknown[] = [];
    const observer: RequestObserver = {
      begin: () => ({ end: (outcome) => templates.push(outcome.template) }),
    };
    const { origin } = await start(() => unavailable, [observer]);
    await httpRequest(origin, { path });
    expect(templates).toEqual([template]);
  });
});

it('errors keep their domain when a package that sorts before joins the contract', async () => {
  const rule = create(HttpRuleSchema, { pattern: { case: 'get', value: '/a' } });
  const options = create(MethodOptionsSchema);
  setExtension(options, http, rule);
  const method = [{ name: 'Get', inputType: '.a.v1.A', outputType: '.a.v1.A', options }];
  const file = create(FileDescriptorProtoSchema, {
    name: 'a.proto',
    package: 'a.v1',
    messageType: [{ name: 'A' }],
    service: [{ name: 'As', method }],
  });
  const set = fromBinary(FileDescriptorSetSchema, descriptorSet);
  set.file.unshift(file);
  const { origin } = await start(() => unavailable, [], toBinary(FileDescriptorSetSchema, set));
  expect((await httpRequest(origin, { path: '/api/a' })).status).toBe(503);
  const { text } = await httpRequest(origin, { path: '/api/nowhere' });
  expect(text).toContain('"reason":"PATH_UNKNOWN","domain":"routing.v1"');
});

describe('a page', () => {
  it('is served unchanged, without a token, under the base path', async () => {
    const { origin } = await start(() => unavailable);
    const response = await httpRequest(origin, { path: '/api/notes.txt' });
    expect(response).toMatchObject({
      status: 200,
      text: 'Grüße',
      headers: {
        'content-type': 'text/plain; charset=utf-8',
        'content-length': '7',
        'content-security-policy': "default-src 'none'",
        'cache-control': 'no-cache',
      },
    });
  });

  it.each(['/notes.txt', '/api/notes.txt/', '/api/Notes.txt', '/api/notes.txtx'])(
    'is not found at %s',
    async (path) => {
      const { origin } = await start(() => unavailable);
      expect((await httpRequest(origin, { path })).status).toBe(404);
    },
  );
});

describe('health', () => {
  const SERVING = HealthCheckResponse_ServingStatus.SERVING;

  it('is 200 without a token while the server serves', async () => {
    const asked: UnaryCall[] = [];
    const { origin } = await start((call) => {
      asked.push(call);
      return health(SERVING);
    });
    const response = await httpRequest(origin, { path: '/api/healthz', headers: { 'x-request-id': 'mine' } });
    expect(response).toMatchObject({
      status: 200,
      text: '{"status":"SERVING"}',
      headers: { 'cache-control': 'no-store', 'x-request-id': 'mine' },
    });
    expect(await httpRequest(origin, { method: 'HEAD', path: '/api/healthz' })).toMatchObject({
      status: 200,
      text: '',
    });
    expect(asked[0]).toMatchObject({
      path: '/grpc.health.v1.Health/Check',
      metadata: new Map([['x-request-id', 'mine']]),
    });
  });

  it.each([
    ['is not serving', () => health(HealthCheckResponse_ServingStatus.NOT_SERVING)],
    ['is unavailable', () => unavailable],
    ['answers OK without a message', () => ({ code: status.OK, details: '', answered: true })],
  ])('is 503 while the server %s', async (_, unary) => {
    const response = await httpRequest((await start(unary)).origin, { path: '/api/healthz' });
    expect(response).toMatchObject({ status: 503, text: '{"status":"NOT_SERVING"}' });
    expect(response.headers['retry-after']).toBe('1');
  });

  it('is 503 once the gateway drains, while other requests are served as before', async () => {
    const { origin, drain } = await start(() => health(SERVING));
    drain();
    const response = await httpRequest(origin, { path: '/api/healthz' });
    expect(response).toMatchObject({ status: 503, text: '{"status":"NOT_SERVING"}' });
    expect((await httpRequest(origin, { path: '/api/notes.txt' })).status).toBe(200);
  });

  it('has a deadline of two seconds', async () => {
    const asked: UnaryCall[] = [];
    const { origin } = await start((call) => {
      asked.push(call);
      return unavailable;
    });
    const before = now();
    await httpRequest(origin, { path: '/api/healthz' });
    expect(asked[0]?.deadline).toBeGreaterThanOrEqual(before + 2_000);
    expect(asked[0]?.deadline).toBeLessThanOrEqual(now() + 2_000);
  });

  it('is served to a client that expects 100-continue', async () => {
    const { origin } = await start(() => health(SERVING));
    const headers = { expect: '100-continue' };
    expect((await httpRequest(origin, { path: '/api/healthz', headers })).status).toBe(200);
  });

  it('is 500 if the upstream throws', async () => {
    const { origin } = await start(() => Promise.reject(new Error('secret')));
    const response = await httpRequest(origin, { path: '/api/healthz' });
    expect(response.status).toBe(500);
    expect(response.text).not.toContain('secret');
  });

  it('does not support POST', async () => {
    const { origin } = await start(() => health(SERVING));
    const response = await httpRequest(origin, { method: 'POST', path: '/api/healthz' });
    expect(response).toMatchObject({ status: 405, headers: { allow: 'GET, HEAD, OPTIONS' } });
  });

  it.each(['/healthz', '/api/healthz/', '/api/Healthz', '/api/'])('is not found at %s', async (path) => {
    const { origin } = await start(() => health(SERVING));
    expect((await httpRequest(origin, { path })).status).toBe(404);
  });
});

describe('health over a channel', () => {
  const CHECK = '/grpc.health.v1.Health/Check';
  const PATH = '/api/healthz';

  it('takes one call to the server for all waiting clients, whichever of them leaves', async () => {
    const answers: Deferred<GrpcReply>[] = [];
    const unary = (): Promise<GrpcReply> => {
      const answer = new Deferred<GrpcReply>();
      answers.push(answer);
      return answer.promise;
    };
    const server = opening(await listen({ unary }, [CHECK]));
    const upstream = opening(grpcUpstream(server.address, { credentials: credentials.createInsecure() }));
    let begun = 0;
    const observer: RequestObserver = {
      begin: () => {
        begun += 1;
        return { end: () => undefined };
      },
    };
    let asked = 0;
    // No deadline, so that the test alone decides when the server responds.
    const withoutDeadline = (call: UnaryCall) => {
      asked += 1;
      return upstream.unary({ ...call, deadline: Infinity });
    };
    const gateway = await start(withoutDeadline, [observer]);
    const soon = { timeout: 10_000 };

    const first = get(`${gateway.origin}${PATH}`, { agent: false }).on('error', () => undefined);
    await expect.poll(() => answers.length, soon).toBe(1);
    const others = Array.from({ length: 499 }, () => httpRequest(gateway.origin, { path: PATH }));
    await expect.poll(() => begun, soon).toBe(500);
    expect(asked).toBe(1);
    first.destroy();
    await expect.poll(() => gateway.connections(), soon).toBe(499);
    answers[0]?.resolve(health(HealthCheckResponse_ServingStatus.SERVING));
    expect(new Set((await Promise.all(others)).map(({ status }) => status))).toEqual(new Set([200]));

    const next = httpRequest(gateway.origin, { path: PATH });
    await expect.poll(() => answers.length, soon).toBe(2);
    answers[1]?.resolve(health(HealthCheckResponse_ServingStatus.NOT_SERVING));
    expect((await next).status).toBe(503);
  });
});

describe('a request that cannot become a call', () => {
  it('is sent to the guard of the server as an auth-only call without a message', async () => {
    const asked: UnaryCall[] = [];
    const { origin } = await start((call) => {
      asked.push(call);
      return { code: status.UNAUTHENTICATED, details: 'No.', answered: true, trailers: new Metadata() };
    });
    const response = await httpRequest(origin, {
      path: '/api/v1/routing/1?wrong=1',
      headers: { authorization: 'Bearer x', 'x-auth-only': 'theirs', 'idempotency-key': 'k' },
    });
    expect(response.status).toBe(401);
    expect(asked).toHaveLength(1);
    expect(asked[0]).toMatchObject({ path: '/routing.v1.RouteService/GetRoute', message: new Uint8Array() });
    expect(Object.fromEntries(asked[0]?.metadata ?? [])).toEqual({
      'x-request-id': response.headers['x-request-id'],
      authorization: 'Bearer x',
      'idempotency-key': 'k',
      'x-auth-only': '1',
    });
  });

  it('is answered with 404 if its path is not a URL', async () => {
    const { origin } = await start(() => unavailable);
    const response = await httpRequest(origin, { path: '//' });
    expect(response.status).toBe(404);
    expect(reasonOf(response)).toBe('PATH_UNKNOWN');
  });
});
