import { describe, expect, it } from 'vitest';
import { errorOf, reasonOf } from './support/http-request.js';
import { CREATED_AT, MEMBER } from './support/library-server.js';
import { sharedTranscoder } from './support/shared-transcoder.js';

const JSON_TYPE = 'application/json';
const MAX_BODY_BYTES = 65_536;

describe('a transcoder', () => {
  const { send, call } = sharedTranscoder();

  describe('a success', () => {
    // The library names every shelf "poems & prose".
    it('is 201 with the resource and its Location for a create', async () => {
      const response = await call('POST', '/v1/shelves', { theme: 'x' });
      expect(response.status).toBe(201);
      expect(response.headers.location).toBe('/v1/shelves/poems%20%26%20prose');
      expect(response.headers['cache-control']).toBe('no-store');
      expect(response.headers['content-type']).toBe(JSON_TYPE);
      expect(response.headers.etag).toBeUndefined();
      expect(response.text).toBe(`{"id":"poems & prose","theme":"x","createdAt":"${CREATED_AT}"}`);
    });

    it('has the same bytes for a create as for a GET of its Location', async () => {
      const created = await call('POST', '/v1/shelves', { theme: 'all' });
      expect((await call('GET', created.headers.location ?? '')).text).toBe(created.text);
    });

    // The library names a book after its shelf and the `bookId`.
    it('has the resource name as Location for a create of a named resource', async () => {
      const response = await call('POST', '/v1/shelves/1/books?bookId=%C3%A4', { title: 'T' });
      expect(response).toMatchObject({ status: 201, headers: { location: '/v1/shelves/1/books/%C3%A4' } });
    });

    it.each([
      { path: '/v1/shelves/1/books', body: {}, why: 'the resource has no identifier' },
      { path: '/v1/reviews', body: { text: 'x' }, why: 'no method gets the resource' },
      { path: '/v1/loans', body: { holder: 'x' }, why: 'its fields do not fill its path' },
    ])('has no Location for a create if $why', async ({ path, body }) => {
      const response = await call('POST', path, body);
      expect(response.status).toBe(201);
      expect(response.headers.location).toBeUndefined();
    });

    it('is 200 without Location, id and time for a dry run', async () => {
      const response = await call('POST', '/v1/shelves?validateOnly=true', { theme: 'x' });
      expect(response.status).toBe(200);
      expect(response.headers.location).toBeUndefined();
      expect(response.text).toBe('{"theme":"x"}');
    });

    it('is 200 for a create by PUT', async () => {
      expect(await call('PUT', '/v1/loans/x', {})).toMatchObject({ status: 200, text: '{"holder":"x"}' });
    });

    it('is immutable for a GET of a resource that never changes', async () => {
      const { status, headers, text } = await call('GET', '/v1/shelves/a%2Fb');
      expect(status).toBe(200);
      expect(JSON.parse(text)).toMatchObject({ id: 'a/b' });
      expect(headers).toMatchObject({
        'cache-control': 'private, max-age=31536000, immutable',
        vary: 'Authorization',
        // A digest in base64url.
        etag: expect.stringMatching(/^"[\w-]{27}"$/) as string,
      });
    });

    it('is cacheable but must be revalidated for any other GET', async () => {
      const { headers } = await call('GET', '/v1/shelves/1/books/2');
      expect(headers).toMatchObject({ 'cache-control': 'private, no-cache', vary: 'Authorization' });
      expect(headers.etag).toBeDefined();
    });

    it('has the headers of GET and no body for HEAD', async () => {
      const get = await call('GET', '/v1/shelves/1');
      const head = await call('HEAD', '/v1/shelves/1');
      expect(head).toMatchObject({ status: 200, text: '' });
      const names = ['etag', 'content-length', 'content-type', 'cache-control', 'vary'];
      expect(names.map((name) => head.headers[name])).toEqual(names.map((name) => get.headers[name]));
    });

    it.each([
      {
        method: 'PATCH',
        path: '/v1/shelves/1/books/2?update_mask=title',
        body: { title: 'T' },
        // The library answers with the mask as an author.
        answer: { name: 'shelves/1/books/2', title: 'T', authors: [{ name: 'title' }] },
      },
      { method: 'DELETE', path: '/v1/shelves/1/books/2', body: undefined, answer: {} },
      {
        method: 'POST',
        path: '/v1/shelves/1/books/2:archive',
        body: undefined,
        // The library answers with the reason, which the request lacks, as the title.
        answer: { name: 'shelves/1/books/2', title: '', authors: [] },
      },
      { method: 'POST', path: '/v1/echo/time', body: `"${CREATED_AT}"`, answer: CREATED_AT },
      { method: 'PUT', path: '/v1/echo/items', body: ['a', 'b'], answer: ['a', 'b'] },
      { method: 'LOCK', path: '/v1/locks/a', body: undefined, answer: { stringValue: 'a' } },
      { method: 'OPTIONS', path: '/v1/options', body: undefined, answer: { stringValue: '' } },
      { method: 'GET', path: '/v1/files/a/b%2Fc', body: undefined, answer: { stringValue: 'a/b%2Fc' } },
    ])('is 200 for $method $path', async ({ method, path, body, answer }) => {
      const response = await call(method, path, body);
      expect(response.status).toBe(200);
      expect({ answer: JSON.parse(response.text) as unknown }).toMatchObject({ answer });
    });
  });

  describe('a content type', () => {
    // Parameters may be empty, their names are in any case, and their values may be quoted (RFC 9110, section 5.6.6).
    it.each([
      'application/json',
      'application/json;charset="UTF-8"',
      'application/json;',
      'application/json \t; ; charset=Utf-8 ;',
      'application/json;CHARSET="utf-8";',
      'application/json; v=1',
      'application/json;odata=verbose; charset=utf-8',
      'application/json; profile="a;charset=latin1\\""',
    ])('may be %s', async (type) => {
      expect((await call('POST', '/v1/shelves', {}, { 'content-type': type })).status).toBe(201);
    });

    it.each([
      '',
      'application/json; v',
      'application/json; charset=utf-16',
      'application/json; charset = utf-8',
      'application/json; charset=utf-8; charset=latin1',
    ])('is refused if it is "%s"', async (type) => {
      const refused = await call('POST', '/v1/shelves', {}, { 'content-type': type });
      expect([refused.status, reasonOf(refused)]).toEqual([415, 'CONTENT_TYPE_UNSUPPORTED']);
    });

    it.each([{}, { 'content-length': '0' }, { 'content-length': '0', 'content-type': 'text/plain' }])(
      'is not needed for the empty body of a method whose body is the whole message: %j',
      async (headers) => {
        const { status } = await call('POST', '/v1/shelves/1/books/2:archive', undefined, headers);
        expect(status).toBe(200);
      },
    );
  });

  describe('a body', () => {
    it.each(['identity', 'Identity'])('may have the content coding %s', async (coding) => {
      const headers = { 'content-encoding': coding };
      expect((await call('POST', '/v1/shelves', { theme: 'x' }, headers)).status).toBe(201);
    });

    it('may be chunked and of the largest size', async () => {
      const theme = 'x'.repeat(MAX_BODY_BYTES - '{"theme":""}'.length);
      const headers = { 'transfer-encoding': 'chunked' };
      expect((await call('POST', '/v1/shelves', { theme }, headers)).status).toBe(201);
    });
  });

  describe('a path', () => {
    it.each(['/', '/v1/shelves/', '//v1/shelves', '*', 'http://x'])(
      '%s is unknown, with a token or without',
      async (path) => {
        for (const headers of [{}, { authorization: MEMBER }]) {
          const response = await send({ path, headers });
          expect(response.status).toBe(404);
          expect(response.headers['cache-control']).toBe('no-store');
          expect(errorOf(response)).toMatchObject({ code: 404, status: 'NOT_FOUND' });
          expect(reasonOf(response)).toBe('PATH_UNKNOWN');
        }
      },
    );

    it.each([
      { method: 'POST', path: '/v1/shelves/1', allow: 'GET, HEAD, OPTIONS' },
      { method: 'PUT', path: '/v1/shelves/1/books/2', allow: 'GET, HEAD, PATCH, DELETE, OPTIONS' },
    ])('$path refuses $method and lists its methods in Allow', async ({ method, path, allow }) => {
      const response = await send({ method, path });
      expect(response).toMatchObject({ status: 405, headers: { allow } });
      expect(errorOf(response)).toMatchObject({ code: 405, status: 'UNIMPLEMENTED' });
      expect(reasonOf(response)).toBe('METHOD_NOT_ALLOWED');
      expect(await send({ method: 'OPTIONS', path })).toMatchObject({
        status: 204,
        headers: { allow },
        text: '',
      });
    });

    it('* stands for the server, whose OPTIONS response lists all its methods', async () => {
      const response = await send({ method: 'OPTIONS', path: '*' });
      expect(response).toMatchObject({ status: 204, text: '' });
      expect(response.headers.allow).toMatch(/^(?=.*GET, HEAD)(?=.*POST)(?=.*LOCK)(?=.*OPTIONS)[A-Z, ]+$/);
    });

    it('takes no method from X-HTTP-Method-Override', async () => {
      const headers = { authorization: MEMBER, 'x-http-method-override': 'DELETE' };
      expect((await send({ method: 'PUT', path: '/v1/shelves/1/books/2', headers })).status).toBe(405);
    });
  });
});
