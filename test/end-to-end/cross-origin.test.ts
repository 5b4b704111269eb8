import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { httpRequest, type HttpResponse } from '../../packages/transcoder/test/support/http-request.js';
import type { Parameter, Response as Described } from '@route-registry/transcoder/openapi';
import { openApi } from '../support/openapi.js';
import { type Service, startService, tokenFor } from '../support/service.js';

const LISTED = 'https://app.example.com';
const QUESTION = {
  'access-control-request-method': 'POST',
  'access-control-request-headers': 'authorization,content-type',
};
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
      settings: { CORS_ORIGINS: `https://other.example.com,${LISTED}` },
    });
    origin = service.httpUrl;
  });

  afterAll(async () => {
    await service.close();
  });

  it.each(['/v1/routing', '/v1/routing/x', '/healthz', '/openapi.json', '/unknown'])(
    'answers a preflight for %s without a token',
    async (path) => {
      const response = await httpRequest(origin, { method: 'OPTIONS', path, headers: PREFLIGHT });
      expect(response).toMatchObject({
        status: 204,
        text: '',
        headers: {
          'access-control-allow-origin': LISTED,
          'access-control-max-age': '7200',
          vary: 'Origin',
          'x-request-id': expect.any(String) as string,
        },
      });
      expect(listOf(response, 'access-control-allow-methods')).toEqual(
        expect.arrayContaining(['get', 'head', 'post']),
      );
      expect(response.headers).not.toHaveProperty('access-control-allow-credentials');
    },
  );

  it('allows exactly the documented request headers, and exposes every documented response header', async () => {
    const { paths, components } = openApi();
    const operations = Object.values(paths).flatMap((verbs) => Object.values(verbs));
    const parameters = [
      ...operations.flatMap((each) => each.parameters),
      ...Object.values(components.parameters),
    ].filter((each): each is Parameter => 'in' in each && each.in === 'header');
    const answers = [
      ...operations.flatMap((each) => Object.values(each.responses)),
      ...Object.values(components.responses),
    ].filter((each): each is Described => 'headers' in each);

    const preflight = await httpRequest(origin, { method: 'OPTIONS', path: '/healthz', headers: PREFLIGHT });
    expect(new Set(listOf(preflight, 'access-control-allow-headers'))).toEqual(
      new Set(['authorization', 'content-type', ...parameters.map(lowerName)]),
    );
    const answer = await httpRequest(origin, { path: '/healthz', headers: { origin: LISTED } });
    const toEverybody = 'Cache-Control';
    const exposed = answers
      .flatMap((each) => Object.keys(each.headers))
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
  ])('grants nothing to %s', async (_, headers) => {
    const asked = { ...QUESTION, ...headers };
    const get = await httpRequest(origin, { path: '/healthz', headers });
    const options = await httpRequest(origin, { method: 'OPTIONS', path: '/v1/routing', headers: asked });
    expect([grantsOf(get), grantsOf(options)]).toEqual([[], []]);
    expect([get.headers.vary, options.headers.vary]).toEqual(['Origin', 'Origin']);
    expect(options).toMatchObject({ status: 204, headers: { allow: 'POST, OPTIONS' } });
  });

  it('declares that a cacheable response varies by token and origin', async () => {
    const headers = { origin: LISTED, authorization: `Bearer ${tokenFor()}` };
    const created = await httpRequest(origin, {
      method: 'POST',
      path: '/v1/routing',
      headers: { ...headers, 'content-type': 'application/json' },
      body: '{"method":"GET","path":"/","handler":"h"}',
    });
    const got = await httpRequest(origin, { path: String(created.headers.location), headers });
    expect(got).toMatchObject({ status: 200, headers: { vary: 'Origin, Authorization' } });
  });
});

function lowerName({ name }: Parameter): string {
  return name.toLowerCase();
}

describe('a service without CORS_ORIGINS', () => {
  it('grants nothing, and does not vary by origin', async () => {
    const service = await startService({ databaseUrl: 'sqlite::memory:' });
    const response = await httpRequest(service.httpUrl, {
      method: 'OPTIONS',
      path: '/v1/routing',
      headers: PREFLIGHT,
    });
    expect(response).toMatchObject({ status: 204, headers: { allow: 'POST, OPTIONS' } });
    expect([grantsOf(response), response.headers.vary]).toEqual([[], undefined]);
    await service.close();
  });
});
