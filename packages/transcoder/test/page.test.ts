import { createServer } from 'node:http';
import { describe, expect, it } from 'vitest';
import { createTranscoder } from '../src/index.js';
import { documentPages, type Page, withPages } from '../src/page.js';
import { errorOf, httpRequest, reasonOf, type HttpRequest } from './support/http-request.js';
import { shopImage } from './support/library-contract.js';
import { shop } from './support/described.js';
import { listening } from './support/opening.js';

/** Serves the shop with its OpenAPI document and page. */
async function serve(
  basePath = '',
  pages?: readonly Page[],
): Promise<(request: HttpRequest) => ReturnType<typeof httpRequest>> {
  const origin = await serveAt(basePath, pages);
  return (request) => httpRequest(origin, request);
}

/** The same, by its origin. */
async function serveAt(
  basePath = '',
  pages: readonly Page[] = documentPages(() => shop({ basePath, info: { title: 'Shop <&>' } })),
): Promise<string> {
  const unary = () => ({ code: 5, details: 'There is no such item.', answered: true });
  const transcoder = createTranscoder({ descriptorSet: shopImage, upstream: { unary }, basePath });
  const server = createServer(
    basePath === '' ? withPages(transcoder, pages) : withPages(transcoder, pages, basePath),
  );
  return listening(server);
}

describe('the pages of an OpenAPI document', () => {
  it('are the document, Swagger UI and its files, next to the paths of the contract', async () => {
    const send = await serve();
    const document = await send({ path: '/openapi.json' });
    expect(JSON.parse(document.text)).toMatchObject({ openapi: '3.1.1', info: { title: 'Shop <&>' } });
    const page = await send({ path: '/docs' });
    expect(String(page.headers['content-security-policy']).split('; ')).toEqual([
      "default-src 'none'",
      "script-src 'self'",
      "style-src 'self'",
      "img-src 'self' data:",
      "connect-src 'self'",
      "base-uri 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
    ]);
    expect(page.text).toContain('<title>Shop &#60;&#38;&#62;</title>');
    const needed = [...page.text.matchAll(/(?:href|src)="(docs\/[^"]+)"/g)].map(
      ([, path = '']) => `/${path}`,
    );
    expect(needed.length).toBe(5);
    const statuses = await Promise.all(needed.map(async (path) => (await send({ path })).status));
    expect(new Set(statuses)).toEqual(new Set([200]));
    expect(errorOf(await send({ path: '/v1/till/7' }))).toMatchObject({ message: 'There is no such item.' });
    expect(reasonOf(await send({ path: '/docs/other' }))).toBe('PATH_UNKNOWN');
  });

  it('are under the base path, like the contract', async () => {
    const send = await serve('/api');
    expect(JSON.parse((await send({ path: '/api/openapi.json' })).text)).toMatchObject({
      servers: [{ url: '.' }],
    });
    expect((await send({ path: '/openapi.json' })).status).toBe(404);
  });

  it.each(['/docs/swagger-ui.js', '/docs/swagger-ui.css'])(
    'are compressed for clients that accept it: %s',
    async (path) => {
      const origin = await serveAt();
      const response = (accepted = 'identity', more: Record<string, string> = {}): Promise<Response> =>
        fetch(origin + path, { headers: { ...more, 'accept-encoding': accepted } });
      const plain = await response();
      expect(Object.fromEntries(plain.headers)).toMatchObject({ vary: 'Accept-Encoding' });
      expect(plain.headers.has('content-encoding')).toBe(false);
      const text = await plain.text();
      for (const accepted of ['gzip', 'br, GZIP;q=0.5', '*']) {
        const packed = await response(accepted);
        expect(Object.fromEntries(packed.headers)).toMatchObject({
          'content-encoding': 'gzip',
          vary: 'Accept-Encoding',
        });
        expect(Number(packed.headers.get('content-length'))).toBeLessThan(text.length / 2);
        expect(packed.headers.get('etag')).not.toBe(plain.headers.get('etag'));
        expect(await packed.text()).toBe(text);
        const tag = { 'if-none-match': String(packed.headers.get('etag')) };
        expect((await response(accepted, tag)).status).toBe(304);
        expect((await response('identity', tag)).status).toBe(200);
      }
      for (const refused of ['br', 'gzip;q=0', 'gzip;q=0, *'])
        expect((await response(refused)).headers.has('content-encoding')).toBe(false);
    },
  );

  it('are described once, and only when somebody asks', async () => {
    let times = 0;
    const pages = documentPages(() => {
      times += 1;
      return shop();
    });
    expect(times).toBe(0);
    const send = await serve('', pages);
    await Promise.all(['/docs', '/openapi.json', '/openapi.json'].map((path) => send({ path })));
    expect(times).toBe(1);
  });

  it('are read-only, and 304 for a client that has them', async () => {
    const send = await serve();
    const { etag } = (await send({ path: '/docs' })).headers;
    const headers = { 'if-none-match': etag };
    expect(await send({ path: '/docs', headers })).toMatchObject({ status: 304, text: '' });
    expect(await send({ path: '/docs', method: 'HEAD' })).toMatchObject({ status: 200, text: '' });
    expect(await send({ path: '/docs', method: 'OPTIONS' })).toMatchObject({
      status: 204,
      headers: { allow: 'GET, HEAD, OPTIONS' },
    });
    expect(reasonOf(await send({ path: '/docs', method: 'POST' }))).toBe('METHOD_NOT_ALLOWED');
  });
});
