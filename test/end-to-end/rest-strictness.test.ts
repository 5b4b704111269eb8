import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  errorOf,
  fieldsOf,
  type HttpResponse,
  httpRequest,
  reasonOf,
  rawExchange,
} from '../../packages/transcoder/test/support/http-request.js';
import { checkResponse } from '../support/openapi.js';
import { runningService } from '../support/running-service.js';
import { type Service, startService, tokenFor } from '../support/service.js';

const JSON_TYPE = { 'content-type': 'application/json' };
const ROUTE = '{"method":"GET","path":"/users/:id","handler":"h"}';

interface Request {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string | Buffer;
}

/** One request for each status that only authorized callers see; the transcoder's tests cover all faults. */
const REFUSALS = [
  {
    title: 'an unknown field',
    body: '{"colour":"red"}',
    http: 400,
    reason: 'REQUEST_MALFORMED',
    fields: ['route.colour'],
  },
  { title: '65,537 bytes', body: ROUTE.padEnd(65_537), http: 413, reason: 'REQUEST_TOO_LARGE', fields: [] },
  {
    title: 'an encoded body',
    body: ROUTE,
    headers: { 'content-encoding': 'gzip' },
    http: 415,
    reason: 'CONTENT_TYPE_UNSUPPORTED',
    fields: [],
  },
  {
    title: 'a conditional create',
    body: ROUTE,
    headers: { 'if-match': '*' },
    http: 412,
    reason: 'PRECONDITION_FAILED',
    fields: [],
  },
];

/** Requests that get an error of the service only because of the settings of its HTTP server. */
const RAW: readonly (readonly [title: string, head: string, http: number, reason: string])[] = [
  ['a request without Host', 'GET /healthz HTTP/1.1', 400, 'REQUEST_MALFORMED'],
  ['a longer target', `GET /healthz?${'x'.repeat(20_000)} HTTP/1.1\r\nHost: a`, 431, 'HEADERS_TOO_LARGE'],
  ['a CONNECT request', 'CONNECT a:1 HTTP/1.1\r\nHost: a:1', 405, 'METHOD_NOT_ALLOWED'],
];

/** Sends a request and checks that its response is as documented. @param token '' for none */
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

describe('the REST gateway', () => {
  let service: Service;

  beforeAll(async () => {
    service = await startService({ databaseUrl: 'sqlite::memory:' });
  });

  afterAll(async () => {
    await service.close();
  });

  function call(request: Request, token?: string): Promise<HttpResponse> {
    return send(service, request, token);
  }

  it.each(REFUSALS)(
    'refuses $title: $http, $reason, but only 401 without a token',
    async ({ http, reason, fields, ...request }) => {
      const response = await call(request);
      expect([response.status, reasonOf(response), fieldsOf(response)]).toEqual([http, reason, fields]);
      expect(response.headers['cache-control']).toBe('no-store');
      expect(response.headers['accept-post']).toBe(http === 415 ? 'application/json' : undefined);
      const unknown = await call(request, '');
      expect([unknown.status, reasonOf(unknown)]).toEqual([401, 'TOKEN_MISSING']);
    },
  );

  it('answers a request for a list of routes with 405, even without a token', async () => {
    const response = await call({ method: 'GET' }, '');
    expect([response.status, reasonOf(response), response.headers.allow]).toEqual([
      405,
      'METHOD_NOT_ALLOWED',
      'POST, OPTIONS',
    ]);
  });

  it.each(RAW)('refuses %s with an error in the usual format', async (_, head, http, reason) => {
    const response = await rawExchange(service.httpUrl, `${head}\r\nConnection: close\r\n\r\n0\r\n\r\n`);
    const [headers = '', text = ''] = response.split('\r\n\r\n');
    expect(headers).toMatch(new RegExp(`^HTTP/1\\.1 ${http} `));
    expect(headers).toMatch(/^cache-control: no-store$/im);
    expect(headers).toMatch(/^content-type: application\/json$/im);
    expect(headers).toMatch(/^x-request-id: .+$/im);
    expect(errorOf({ text }).code).toBe(http);
    expect(reasonOf({ text })).toBe(reason);
  });

  it.each([
    ['of health', '/healthz', 200],
    ['that is unknown', '/nowhere', 404],
    ['that is not a URL', '//', 404],
  ])(
    'answers a request for a path %s, and closes the connection at the CONNECT after it',
    async (_, path, http) => {
      const bytes = `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\nCONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n`;
      const response = await rawExchange(service.httpUrl, bytes);
      expect(response.match(/^HTTP\/1\.1 \d+/gm)).toEqual([`HTTP/1.1 ${http}`]);
    },
  );

  it('answers OPTIONS * with all allowed methods', async () => {
    const response = await rawExchange(
      service.httpUrl,
      'OPTIONS * HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n',
    );
    expect(response).toMatch(/^HTTP\/1\.1 204 /);
    expect(response).toMatch(/^allow: POST, GET, HEAD, OPTIONS\r$/im);
  });

  it('answers HEAD like GET without the body, and GET like the create', async () => {
    const created = await call({ body: ROUTE });
    const { id } = JSON.parse(created.text) as { id: string };
    const get = await call({ method: 'GET', path: `/v1/routing/${id}` });
    expect(get.text).toBe(created.text);
    const head = await call({ method: 'HEAD', path: `/v1/routing/${id}` });
    expect(head).toMatchObject({ status: 200, text: '' });
    for (const name of ['etag', 'content-length', 'content-type', 'cache-control', 'vary']) {
      expect(head.headers[name]).toBe(get.headers[name]);
    }
  });

  it('does not reveal its software', async () => {
    const { headers } = await call({ method: 'GET', path: '/healthz' }, '');
    expect(headers['x-powered-by']).toBeUndefined();
    expect(headers['server']).toBeUndefined();
  });
});

it('a separate gateway accepts and refuses the same requests, and hides the same without a token', async () => {
  const service = await runningService({ topology: 'over a channel' });
  const refused = { body: '{"colour":"red"}' };
  const [{ text, status }, wrong, unauthenticated, large] = await Promise.all([
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
  expect([unauthenticated.status, reasonOf(unauthenticated)]).toEqual([401, 'TOKEN_MISSING']);
  expect([large.status, reasonOf(large)]).toEqual([413, 'REQUEST_TOO_LARGE']);
});
