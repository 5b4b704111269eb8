import { describe, expect, it } from 'vitest';
import { Code } from '../../src/gen/google/rpc/code_pb.js';
import { reasonOf, type HttpResponse } from '../support/http-request.js';
import { sharedTranscoder } from '../support/shared-transcoder.js';

const { send, call } = sharedTranscoder();

const SHELF = '/v1/shelves/1';

/** The entity tag of the shelf. */
async function shelfTag(): Promise<string> {
  const { etag } = (await call('GET', SHELF)).headers;
  if (etag === undefined) throw new Error('The shelf has no entity tag.');
  return etag;
}

describe('If-None-Match', () => {
  it('makes the response to a GET 304 without a body if it lists the tag, compared weakly', async () => {
    const etag = await shelfTag();
    const response = await call('GET', SHELF, undefined, { 'if-none-match': `"x", W/${etag}` });
    expect(response).toMatchObject({ status: 304, text: '', headers: { etag, vary: 'Authorization' } });
    expect(response.headers['content-length']).toBeUndefined();
  });

  it.each(['*', '"x"'])('of %s allows a create, since nothing exists to match', async (tag) => {
    expect((await call('POST', '/v1/shelves', {}, { 'if-none-match': tag })).status).toBe(201);
  });
});

describe('If-Match', () => {
  describe.each(['GET', 'HEAD'])('of a %s', (method) => {
    const callIf = (match: string, noneMatch: string): Promise<HttpResponse> =>
      call(method, SHELF, undefined, { 'if-match': match, 'if-none-match': noneMatch });

    it('allows the request if it lists the tag', async () => {
      expect((await callIf(`"x", ${await shelfTag()}`, '"x"')).status).toBe(200);
    });

    it('leaves the decision to If-None-Match if its value is *', async () => {
      expect((await callIf('*', await shelfTag())).status).toBe(304);
    });

    it('refuses the request if it lists the tag only as a weak one, whatever If-None-Match is', async () => {
      const tag = await shelfTag();
      const refused = await callIf(`W/${tag}`, tag);
      expect(refused).toMatchObject({ status: 412, headers: { 'cache-control': 'no-store' } });
      expect(refused.headers.etag).toBeUndefined();
    });
  });

  it.each(['*', '"x"'])('of %s refuses a create, since nothing exists to match', async (tag) => {
    const refused = await call('POST', '/v1/shelves', { theme: 'x' }, { 'if-match': tag });
    expect(refused).toMatchObject({ status: 412, headers: { 'cache-control': 'no-store' } });
    expect(reasonOf(refused)).toBe('PRECONDITION_FAILED');
  });

  it('does not hide that the request fails for another reason', async () => {
    const response = await call('POST', '/v1/fail', { code: Code.NOT_FOUND }, { 'if-match': '"x"' });
    expect(response.status).toBe(404);
  });

  it('does not hide that a GET has no token', async () => {
    const response = await send({ path: SHELF, headers: { 'if-match': '"x"' } });
    expect(response.status).toBe(401);
  });

  it('does not hide that a create has no token', async () => {
    const response = await send({
      method: 'POST',
      path: '/v1/shelves',
      headers: { 'if-match': '*', 'content-type': 'application/json' },
      body: '{}',
    });
    expect(response.status).toBe(401);
  });
});
