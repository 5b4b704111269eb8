import { describe, expect, it } from 'vitest';
import { createTranscoder } from '../src/transcoder.js';
import { httpRequest, reasonOf } from './support/http-request.js';
import { libraryDescriptorSet } from './support/library-contract.js';
import { LibraryServer, MEMBER } from './support/library-server.js';
import { openTranscoder } from './support/library-transcoder.js';

describe('a base path', () => {
  it.each(['/v1/shelves/1', '/api', '/apix/v1/shelves/1', '/API/v1/shelves/1', '/api//v1/shelves/1'])(
    'leaves the path %s unknown',
    async (path) => {
      const gateway = await openTranscoder({ basePath: '/api' });
      const response = await httpRequest(gateway.origin, { path, headers: { authorization: MEMBER } });
      expect(response.status).toBe(404);
      expect(reasonOf(response)).toBe('PATH_UNKNOWN');
    },
  );

  it.each(['api', '/api/', '/', '/a//b', '/a b', '/:a', '/a*', '/ä'])(
    '%s is refused at start',
    (basePath) => {
      const options = { descriptorSet: libraryDescriptorSet, upstream: new LibraryServer(), basePath };
      expect(() => createTranscoder(options)).toThrow(`"${basePath}" is not a base path`);
    },
  );
});

describe('without a guard', () => {
  it('an unauthenticated client is told what is wrong, and no call is made', async () => {
    const calls: string[] = [];
    const library = new LibraryServer();
    const { origin } = await openTranscoder({
      guard: undefined,
      upstream: {
        unary: (call) => {
          calls.push(call.path);
          return library.unary(call);
        },
      },
    });
    const response = await httpRequest(origin, { method: 'DELETE', path: '/v1/shelves/1/books/2?wrong=1' });
    expect(response.status).toBe(400);
    expect(calls).toEqual([]);
  });
});

describe('standard methods', () => {
  it('are treated like all others with standardMethods: false', async () => {
    const { origin } = await openTranscoder({ standardMethods: false });
    const headers = { authorization: MEMBER, 'content-type': 'application/json' };
    const created = await httpRequest(origin, { method: 'POST', path: '/v1/shelves', headers, body: '{}' });
    expect(created.status).toBe(200);
    expect(created.headers).not.toHaveProperty('location');
    const got = await httpRequest(origin, { path: '/v1/shelves/1', headers });
    expect(got).toMatchObject({ status: 200, headers: { 'cache-control': 'no-store' } });
    expect(got.headers).not.toHaveProperty('etag');
  });
});
