import { gzipSync } from 'node:zlib';
import fc from '../support/fast-check.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  errorOf,
  fieldsOf,
  type HttpResponse,
  httpRequest,
  reasonOf,
} from '../../packages/transcoder/test/support/http-request.js';
import { rawExchange } from '../../packages/transcoder/test/support/library-transcoder.js';
import { checkResponse } from '../support/openapi.js';
import { runningService } from '../support/running-service.js';
import { type Service, startService, tokenFor } from '../support/service.js';

const JSON_TYPE = { 'content-type': 'application/json' };
const ROUTE = '{"method":"GET","path":"/users/:id","handler":"h"}';
const UNKNOWN_ID = '019b7c1e-0e6e-7000-8000-000000000001';

interface Request {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string | Buffer;
}

interface Refusal extends Request {
  readonly title: string;
  readonly http: number;
  readonly reason: string;
  readonly fields: readonly string[];
}

const malformed = { http: 400, reason: 'REQUEST_MALFORMED', fields: [] };
const unsupported = { http: 415, reason: 'CONTENT_TYPE_UNSUPPORTED', fields: [] };
const tooLarge = { http: 413, reason: 'REQUEST_TOO_LARGE', fields: [] };

/** One for each kind of fault that only who may create is told about; the transcoder's tests have all of them. */
const REFUSALS: readonly Refusal[] = [
  { title: 'no body', body: '', ...malformed },
  { title: 'text after the JSON', body: `${ROUTE}x`, ...malformed },
  { title: 'an unknown field', body: '{"colour":"red"}', ...malformed, fields: ['route.colour'] },
  {
    title: 'a repeated key',
    body: '{"method":"GET","method":"GET","path":"/","handler":"h"}',
    ...malformed,
    fields: ['route.method'],
  },
  { title: 'a number for a string', body: '{"method":1}', ...malformed, fields: ['route.method'] },
  { title: 'bytes that are not UTF-8', body: Buffer.from([0x22, 0xff, 0x22]), ...malformed },
  { title: '65,537 bytes', body: `${ROUTE}${' '.repeat(65_537 - ROUTE.length)}`, ...tooLarge },
  {
    title: 'a megabyte of zeros, packed',
    body: gzipSync(Buffer.alloc(1_048_576)),
    headers: { 'content-encoding': 'gzip' },
    ...tooLarge,
  },
  { title: 'an unknown encoding', body: ROUTE, headers: { 'content-encoding': 'zip' }, ...unsupported },
  { title: 'plain text', body: ROUTE, headers: { 'content-type': 'text/plain' }, ...unsupported },
  {
    title: 'another charset',
    body: ROUTE,
    headers: { 'content-type': 'application/json; charset=latin1' },
    ...unsupported,
  },
  {
    title: 'a token in the query',
    path: '/v1/routing?access_token=x',
    body: ROUTE,
    ...malformed,
    fields: ['access_token'],
  },
  {
    title: 'a timeout that is no number',
    body: ROUTE,
    headers: { 'request-timeout': 'soon' },
    ...malformed,
    fields: ['request-timeout'],
  },
  {
    title: 'a broken escape in the path',
    method: 'GET',
    path: '/v1/routing/%zz',
    ...malformed,
    fields: ['route_id'],
  },
];

/** Some that only the settings of the server's own HTTP server let come to an answer of ours. */
const RAW: readonly (readonly [title: string, head: string, http: number, reason: string])[] = [
  ['a request without Host', 'GET /healthz HTTP/1.1', 400, 'REQUEST_MALFORMED'],
  ['a host with a space', 'GET /v1/routing HTTP/1.1\r\nHost: a b', 400, 'REQUEST_MALFORMED'],
  ['a long target', `GET /healthz?${'x'.repeat(8_192)} HTTP/1.1\r\nHost: a`, 414, 'TARGET_TOO_LONG'],
  ['a longer one', `GET /healthz?${'x'.repeat(20_000)} HTTP/1.1\r\nHost: a`, 431, 'HEADERS_TOO_LARGE'],
  [
    'a transfer coding beside chunked',
    'GET /healthz HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked',
    501,
    'TRANSFER_CODING_UNSUPPORTED',
  ],
  ['a tunnel', 'CONNECT a:1 HTTP/1.1\r\nHost: a:1', 405, 'METHOD_NOT_ALLOWED'],
  [
    'an unknown expectation of an unknown path',
    'GET /nowhere HTTP/1.1\r\nHost: a\r\nExpect: tea',
    404,
    'PATH_UNKNOWN',
  ],
];

/** Sends a request whose answer must be as the documents describe it. @param token '' for none */
async function send(
  { httpUrl }: Service,
  { method = 'POST', path = '/v1/routing', headers = {}, body }: Request,
  token = tokenFor(),
): Promise<HttpResponse> {
  const response = await httpRequest(httpUrl, {
    method,
    path,
    headers: {
      ...(token === '' ? {} : { authorization: `Bearer ${token}` }),
      ...(method === 'POST' ? JSON_TYPE : {}),
      ...headers,
    },
    ...(body === undefined ? {} : { body }),
  });
  await checkResponse({ method, url: path }, response);
  return response;
}

describe('the REST face', () => {
  let service: Service;
  let created: HttpResponse;

  beforeAll(async () => {
    service = await startService({ databaseUrl: 'sqlite::memory:' });
    created = await call({ body: ROUTE });
  });

  afterAll(async () => {
    const { id } = JSON.parse(created.text) as { id: string };
    const fetched = await call({ method: 'GET', path: `/v1/routing/${id}`, headers: {} });
    expect(fetched.text).toBe(created.text);
    await service.close();
  });

  function call(request: Request, token?: string): Promise<HttpResponse> {
    return send(service, request, token);
  }

  it.each(REFUSALS)(
    'refuses $title: $http, $reason, and tells a stranger nothing of it',
    async ({ http, reason, fields, ...request }) => {
      const response = await call(request);
      expect([response.status, reasonOf(response), fieldsOf(response)]).toEqual([http, reason, fields]);
      expect(response.headers['cache-control']).toBe('no-store');
      expect(response.headers['accept-post']).toBe(http === 415 ? 'application/json' : undefined);
      const stranger = await call(request, '');
      expect([stranger.status, reasonOf(stranger)]).toEqual([401, 'TOKEN_MISSING']);
    },
  );

  it.each([
    ['a path that is not there', 'GET', '/v1', 404, 'PATH_UNKNOWN', undefined],
    ['a final slash', 'POST', '/v1/routing/', 404, 'PATH_UNKNOWN', undefined],
    ['a final colon', 'POST', '/v1/routing:', 404, 'PATH_UNKNOWN', undefined],
    ['another case', 'POST', '/V1/routing', 404, 'PATH_UNKNOWN', undefined],
    ['a list of routes', 'GET', '/v1/routing', 405, 'METHOD_NOT_ALLOWED', 'POST, OPTIONS'],
    ['a put', 'PUT', `/v1/routing/${UNKNOWN_ID}`, 405, 'METHOD_NOT_ALLOWED', 'GET, HEAD, OPTIONS'],
  ])('answers %s without a token: %s %s', async (_, method, path, http, reason, allow) => {
    const response = await call({ method, path }, '');
    expect([response.status, reasonOf(response), response.headers.allow]).toEqual([http, reason, allow]);
  });

  it.each(RAW)('refuses %s in the shape of all errors', async (_, head, http, reason) => {
    const response = await rawExchange(service.httpUrl, `${head}\r\nConnection: close\r\n\r\n0\r\n\r\n`);
    const [headers = '', text = ''] = response.split('\r\n\r\n');
    expect(headers).toMatch(new RegExp(`^HTTP/1\\.1 ${http} `));
    expect(headers).toMatch(/^cache-control: no-store$/im);
    expect(headers).toMatch(/^content-type: application\/json$/im);
    expect(headers).toMatch(/^x-request-id: .+$/im);
    expect(errorOf({ text }).code).toBe(http);
    expect(reasonOf({ text })).toBe(reason);
  });

  it('answers a good request with garbage after it, once, and ends its connection', async () => {
    const response = await rawExchange(
      service.httpUrl,
      'GET /healthz HTTP/1.1\r\nHost: a\r\n\r\ngarbage\r\n\r\n',
    );
    expect(response).toMatch(/^HTTP\/1\.1 200 OK\r\n[^]*\r\n\r\n\{"status":"SERVING"\}$/);
    expect(response).toMatch(/^connection: close\r$/im);
  });

  it.each([
    ['of the contract', `/v1/routing/${UNKNOWN_ID}`, 401],
    ['of health', '/healthz', 200],
    ['of the first page', '/', 200],
    ['that nobody knows', '/nowhere', 404],
    ['that is no URL', '//', 404],
  ])(
    'answers a path %s, and then ends the connection of whoever asks for a tunnel',
    async (_, path, http) => {
      const bytes = `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\nCONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n`;
      const response = await rawExchange(service.httpUrl, bytes);
      expect(response.match(/^HTTP\/1\.1 \d+/gm)).toEqual([`HTTP/1.1 ${http}`]);
    },
  );

  it('answers OPTIONS * with all that it takes', async () => {
    const response = await rawExchange(
      service.httpUrl,
      'OPTIONS * HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n',
    );
    expect(response).toMatch(/^HTTP\/1\.1 204 /);
    expect(response).toMatch(/^allow: POST, GET, HEAD, OPTIONS\r$/im);
  });

  it('creates nothing where If-Match asks for something that is there', async () => {
    const headers = { ...JSON_TYPE, 'if-match': '*' };
    const refused = await call({ method: 'POST', path: '/v1/routing', headers, body: ROUTE });
    expect([refused.status, reasonOf(refused)]).toEqual([412, 'PRECONDITION_FAILED']);
    const held = { ...JSON_TYPE, 'if-none-match': '*' };
    expect((await call({ method: 'POST', path: '/v1/routing', headers: held, body: ROUTE })).status).toBe(
      201,
    );
  });

  it('answers a route only where If-Match names it', async () => {
    const { id } = JSON.parse(created.text) as { id: string };
    const path = `/v1/routing/${id}`;
    const { headers } = await call({ method: 'GET', path });
    const tag = String(headers.etag);
    for (const method of ['GET', 'HEAD']) {
      expect((await call({ method, path, headers: { 'if-match': tag } })).status).toBe(200);
      const other = await call({ method, path, headers: { 'if-match': '"x"', 'if-none-match': tag } });
      expect(other.status).toBe(412);
    }
    const refused = await call({ method: 'GET', path, headers: { 'if-match': `W/${tag}` } });
    expect(reasonOf(refused)).toBe('PRECONDITION_FAILED');
    expect(errorOf(refused).status).toBe('FAILED_PRECONDITION');
  });

  it('answers OPTIONS with what the path takes', async () => {
    const response = await call({ method: 'OPTIONS', path: `/v1/routing/${UNKNOWN_ID}` }, '');
    expect(response).toMatchObject({ status: 204, text: '', headers: { allow: 'GET, HEAD, OPTIONS' } });
  });

  it('answers HEAD as GET without its body', async () => {
    const { id } = JSON.parse(created.text) as { id: string };
    const get = await call({ method: 'GET', path: `/v1/routing/${id}` });
    const head = await call({ method: 'HEAD', path: `/v1/routing/${id}` });
    expect(head).toMatchObject({ status: 200, text: '' });
    for (const name of ['etag', 'content-length', 'content-type', 'cache-control', 'vary']) {
      expect(head.headers[name]).toBe(get.headers[name]);
    }
  });

  it('keeps an escaped slash inside its segment', async () => {
    const response = await call({ method: 'GET', path: '/v1/routing/a%2Fb' });
    expect(response.status).toBe(404);
    expect(errorOf(response).message).toBe('There is no route with the id "a/b".');
  });

  it('takes a colon at the end of a path as part of the id', async () => {
    const { id } = JSON.parse(created.text) as { id: string };
    const response = await call({ method: 'GET', path: `/v1/routing/${id}:` });
    expect(response.status).toBe(404);
    expect(errorOf(response).message).toBe(`There is no route with the id "${id}:".`);
  });

  it('says nothing of what it is made of', async () => {
    const { headers } = await call({ method: 'GET', path: '/healthz' }, '');
    expect(headers['x-powered-by']).toBeUndefined();
    expect(headers['server']).toBeUndefined();
  });

  it('does not let another header choose the method', async () => {
    const response = await call({
      method: 'POST',
      path: `/v1/routing/${UNKNOWN_ID}`,
      headers: { 'x-http-method-override': 'GET' },
    });
    expect(response.status).toBe(405);
  });

  it('takes JSON in every correct form', async () => {
    const forms: Request[] = [
      { headers: { 'content-type': 'application/json; charset=UTF-8' } },
      { headers: { 'content-encoding': 'gzip' }, body: gzipSync(ROUTE) },
      { headers: { 'content-encoding': 'x-gzip' }, body: gzipSync(ROUTE) },
    ];
    const answers = await Promise.all(forms.map((form) => call({ body: ROUTE, ...form })));
    expect(answers.map(({ status }) => status)).toEqual(forms.map(() => 201));
  });

  it('answers any JSON value with a documented status', async () => {
    const routes = fc.record(
      { method: fc.anything(), path: fc.anything(), middleware: fc.anything(), handler: fc.anything() },
      { requiredKeys: [] },
    );
    await fc.assert(
      fc.asyncProperty(fc.oneof(fc.jsonValue(), routes), async (value) => {
        const { status } = await call({ body: JSON.stringify(value) });
        expect([201, 400, 413]).toContain(status);
      }),
      { numRuns: 100 },
    );
  });

  it('answers any bytes, path, query and headers with a documented status', async () => {
    const visible = fc.string({
      unit: fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCharCode(code)),
    });
    const requests = fc.record({
      method: fc.constantFrom('GET', 'POST', 'HEAD', 'OPTIONS', 'PUT', 'PATCH', 'DELETE'),
      path: visible.map((text) => `/v1/routing${text.startsWith('?') ? '' : '/'}${text.replaceAll('#', '')}`),
      body: fc.option(
        fc.uint8Array({ maxLength: 100 }).map((bytes) => Buffer.from(bytes)),
        { nil: undefined },
      ),
      headers: fc.dictionary(
        fc.constantFrom(
          'content-type',
          'content-encoding',
          'x-request-id',
          'idempotency-key',
          'request-timeout',
          'if-match',
          'if-none-match',
          'traceparent',
          'authorization',
          'accept',
        ),
        visible.filter((text) => text !== ''),
      ),
    });
    await fc.assert(
      fc.asyncProperty(requests, async ({ body, ...request }) => {
        const { status } = await call(body === undefined ? request : { ...request, body });
        expect([200, 201, 204, 304, 400, 401, 404, 405, 412, 413, 414, 415, 504]).toContain(status);
      }),
      { numRuns: 150 },
    );
  });
});

it('a gateway apart takes, refuses and keeps from strangers the same', async () => {
  const service = await runningService({ topology: 'over a channel' });
  const refused = { body: '{"colour":"red"}' };
  const [{ text, status }, wrong, stranger, large] = await Promise.all([
    send(service, { body: ROUTE }),
    send(service, refused),
    send(service, refused, ''),
    send(service, { body: ' '.repeat(65_537) }),
  ]);
  expect(status).toBe(201);
  const { id } = JSON.parse(text) as { id: string };
  const fetched = await send(service, { method: 'GET', path: `/v1/routing/${id}` });
  expect([fetched.status, fetched.text]).toEqual([200, text]);
  expect([wrong.status, fieldsOf(wrong)]).toEqual([400, ['route.colour']]);
  expect([stranger.status, reasonOf(stranger)]).toEqual([401, 'TOKEN_MISSING']);
  expect([large.status, reasonOf(large)]).toEqual([413, 'REQUEST_TOO_LARGE']);
});
