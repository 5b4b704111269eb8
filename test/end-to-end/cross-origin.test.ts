import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { httpRequest, type HttpResponse } from '../../packages/transcoder/test/support/http-request.js';
import type { Response as Described } from '@route-registry/transcoder/openapi';
import { checkResponse, openApi } from '../support/openapi.js';
import { type Service, startService, tokenFor } from '../support/service.js';

const LISTED = 'https://app.example.com';
const QUESTION = {
  'access-control-request-method': 'POST',
  'access-control-request-headers': 'authorization,content-type',
};
/** The answer to OPTIONS, whatever methods the path has besides. */
const METHODS = expect.stringContaining('POST') as string;
const PREFLIGHT = { ...QUESTION, origin: LISTED };

function grantsOf({ headers }: HttpResponse): string[] {
  return Object.keys(headers).filter((name) => name.startsWith('access-control-'));
}

function listOf({ headers }: HttpResponse, name: string): string[] {
  return String(headers[name]).toLowerCase().split(',');
}

describe('a service with CORS_ORIGINS', () => {
  let service: Service;
  let origin: string;

  beforeAll(async () => {
    service = await startService({
      databaseUrl: 'sqlite::memory:',
      settings: { CORS_ORIGINS: `https://other.example.com,${LISTED},https://*.example.app:8443` },
    });
    origin = service.httpUrl;
  });

  afterAll(() => service.close());

  it.each(['/v1/routing', '/unknown'])('answers a preflight for %s without a token', async (path) => {
    const response = await httpRequest(origin, { method: 'OPTIONS', path, headers: PREFLIGHT });
    expect(response).toMatchObject({
      status: 204,
      text: '',
      headers: {
        'access-control-allow-origin': LISTED,
        'access-control-max-age': '7200',
        vary: 'Origin, Access-Control-Request-Headers',
        'x-request-id': expect.any(String) as string,
      },
    });
    expect(listOf(response, 'access-control-allow-methods')).toEqual(
      expect.arrayContaining(['get', 'head', 'post']),
    );
    expect(response.headers).not.toHaveProperty('access-control-allow-credentials');
  });

  it('allows any request header, such as those that monitoring adds', async () => {
    const asked = 'authorization,baggage,sentry-trace,x-datadog-trace-id,x-requested-with';
    const headers = { ...PREFLIGHT, 'access-control-request-headers': asked };
    const preflight = await httpRequest(origin, { method: 'OPTIONS', path: '/v1/routing', headers });
    expect(preflight.headers['access-control-allow-headers']).toBe(asked);
  });

  it('grants every origin with one label in place of a wildcard', async () => {
    for (const page of ['https://a.example.app:8443', 'https://xn--4ca-1.example.app:8443']) {
      const answer = await httpRequest(origin, { path: '/healthz', headers: { origin: page } });
      expect(answer.headers['access-control-allow-origin']).toBe(page);
    }
  });

  it('exposes every documented response header', async () => {
    const { paths, components } = openApi();
    const operations = Object.values(paths).flatMap((verbs) => Object.values(verbs));
    const answers = [
      ...operations.flatMap((operation) => Object.values(operation.responses)),
      ...Object.values(components.responses),
    ].filter((response): response is Described => 'headers' in response);

    const answer = await httpRequest(origin, { path: '/healthz', headers: { origin: LISTED } });
    const toEverybody = 'Cache-Control';
    const exposed = answers
      .flatMap((response) => Object.keys(response.headers))
      .filter((name) => name !== toEverybody);
    expect(listOf(answer, 'access-control-expose-headers')).toEqual(
      expect.arrayContaining(exposed.map((name) => name.toLowerCase())),
    );
  });

  it.each([
    ['no origin', {}],
    ['an origin that is not listed', { origin: 'https://evil.example.com' }],
    ['an origin that begins like a listed one', { origin: `${LISTED}.evil.example.com` }],
    ['an opaque origin', { origin: 'null' }],
    ['two labels in place of a wildcard', { origin: 'https://a.b.example.app:8443' }],
    ['no label in place of a wildcard', { origin: 'https://.example.app:8443' }],
    ['another port than that of a wildcard', { origin: 'https://a.example.app' }],
    ['another scheme than that of a wildcard', { origin: 'http://a.example.app:8443' }],
    ['an origin that ends like a wildcard', { origin: 'https://evil.com/.example.app:8443' }],
    ['an origin with another character for a dot', { origin: 'https://a.exampleXapp:8443' }],
    ['an origin that goes on after a wildcard', { origin: 'https://a.example.app:8443.evil.com' }],
  ])('grants nothing to %s', async (_, headers) => {
    const asked = { ...QUESTION, ...headers };
    const get = await httpRequest(origin, { path: '/healthz', headers });
    const options = await httpRequest(origin, { method: 'OPTIONS', path: '/v1/routing', headers: asked });
    expect([grantsOf(get), grantsOf(options)]).toEqual([[], []]);
    expect([get.headers.vary, options.headers.vary]).toEqual(['Origin', 'Origin']);
    expect(options).toMatchObject({ status: 204, headers: { allow: METHODS } });
  });

  it('declares that a cacheable response varies by token and origin, as the document says', async () => {
    const headers = { origin: LISTED, authorization: `Bearer ${tokenFor()}` };
    const created = await httpRequest(origin, {
      method: 'POST',
      path: '/v1/routing',
      headers: { ...headers, 'content-type': 'application/json' },
      body: '{"method":"GET","path":"/","handler":"h"}',
    });
    const got = await httpRequest(origin, { path: String(created.headers.location), headers });
    expect(got).toMatchObject({ status: 200, headers: { vary: 'Origin, Authorization' } });

    const { authorization } = headers;
    await checkResponse(
      'GET',
      await fetch(origin + String(created.headers.location), { headers: { authorization } }),
    );
  });
});

describe('a service without CORS_ORIGINS', () => {
  it('grants nothing, and does not vary by origin', async () => {
    const service = await startService({ databaseUrl: 'sqlite::memory:' });
    const response = await httpRequest(service.httpUrl, {
      method: 'OPTIONS',
      path: '/v1/routing',
      headers: PREFLIGHT,
    });
    expect(response).toMatchObject({ status: 204, headers: { allow: METHODS } });
    expect([grantsOf(response), response.headers.vary]).toEqual([[], undefined]);
    await service.close();
  });
});
