import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { httpRequest, type HttpResponse } from '../../packages/transcoder/test/support/http-request.js';
import type { Parameter, Response as Described } from '../../src/openapi/open-api.js';
import { startChromium } from '../support/chromium.js';
import { needs } from '../support/needs.js';
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

/** A web server of empty pages, whose origin is not the service's. */
async function startPages(): Promise<{ server: Server; origin: string }> {
  const server = createServer((_, response) => response.setHeader('Content-Type', 'text/html').end());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { server, origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

describe('a service with CORS_ORIGINS', () => {
  let pages: Awaited<ReturnType<typeof startPages>>;
  let service: Service;
  let origin: string;

  beforeAll(async () => {
    pages = await startPages();
    service = await startService({
      databaseUrl: 'sqlite::memory:',
      settings: { CORS_ORIGINS: `${LISTED},${pages.origin}` },
    });
    origin = service.httpUrl;
  });

  afterAll(async () => {
    await service.close();
    pages.server.close();
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

  it('allows every header of a request that is documented, and exposes every header of an answer', async () => {
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
    expect(listOf(preflight, 'access-control-allow-headers')).toEqual(
      expect.arrayContaining(['authorization', 'content-type', ...parameters.map(lowerName)]),
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

  it('says that a cacheable answer depends on both the token and the origin', async () => {
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

  it('serves a script in a browser, its failures too', needs('chromium'), async () => {
    const browser: Browser = await startChromium();
    const page = await browser.newPage();
    await page.goto(pages.origin);
    const seen = await page.evaluate(
      async ([url = '', token = '']) => {
        const authorization = `Bearer ${token}`;
        const created = await fetch(`${url}/v1/routing`, {
          method: 'POST',
          headers: { authorization, 'content-type': 'application/json', 'idempotency-key': 'k' },
          body: '{"method":"GET","path":"/","handler":"h"}',
        });
        const got = await fetch(url + String(created.headers.get('location')), {
          headers: { authorization },
        });
        const refused = await fetch(`${url}/v1/unknown`, { headers: { authorization } });
        const unknown = (await refused.json()) as { error: { status: string } };
        return [created.status, await got.text(), await created.text(), unknown.error.status] as const;
      },
      [origin, tokenFor()],
    );
    await browser.close();
    const [status, got, created, unknown] = seen;
    expect([status, got, unknown]).toEqual([201, created, 'NOT_FOUND']);
  });
});

function lowerName({ name }: Parameter): string {
  return name.toLowerCase();
}

describe('a service without CORS_ORIGINS', () => {
  it('grants nothing, and depends on no origin', async () => {
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
