import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Page } from '../../src/gateway/page.js';
import { startGateway, type RunningGateway } from '../../packages/transcoder/test/support/library-gateway.js';
import { httpRequest, reasonOf } from '../support/http-request.js';

const PAGE: Page = {
  path: '/notes.txt',
  contentType: 'text/plain; charset=utf-8',
  body: Buffer.from('Grüße'),
  headers: { 'Content-Security-Policy': "default-src 'none'" },
};

describe('a page', () => {
  let gateway: RunningGateway;

  beforeAll(async () => {
    gateway = await startGateway('in memory', { basePath: '/api', pages: [PAGE] });
  });

  afterAll(() => gateway.close());

  it('is served as it is, without a token, under the base path', async () => {
    const response = await httpRequest(gateway.origin, { path: '/api/notes.txt' });
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

  it('is not sent again to who has it', async () => {
    const { headers } = await httpRequest(gateway.origin, { path: '/api/notes.txt' });
    const again = await httpRequest(gateway.origin, {
      path: '/api/notes.txt',
      headers: { 'if-none-match': String(headers.etag) },
    });
    expect(again).toMatchObject({ status: 304, text: '', headers: { etag: headers.etag } });
  });

  it('answers HEAD without content and OPTIONS with what it takes', async () => {
    const head = await httpRequest(gateway.origin, { method: 'HEAD', path: '/api/notes.txt' });
    expect(head).toMatchObject({ status: 200, text: '', headers: { 'content-length': '7' } });
    const options = await httpRequest(gateway.origin, { method: 'OPTIONS', path: '/api/notes.txt' });
    expect(options).toMatchObject({ status: 204, headers: { allow: 'GET, HEAD, OPTIONS' } });
  });

  it('can not be written', async () => {
    const response = await httpRequest(gateway.origin, { method: 'PUT', path: '/api/notes.txt' });
    expect(response).toMatchObject({ status: 405, headers: { allow: 'GET, HEAD, OPTIONS' } });
    expect(reasonOf(response)).toBe('METHOD_NOT_ALLOWED');
  });

  it.each(['/notes.txt', '/api/notes.txt/', '/api/Notes.txt', '/api/notes.txtx'])(
    'is not found at %s',
    async (path) => {
      expect((await httpRequest(gateway.origin, { path })).status).toBe(404);
    },
  );
});
