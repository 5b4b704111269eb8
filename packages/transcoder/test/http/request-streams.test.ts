import { describe, expect, it } from 'vitest';
import { unboundRules } from '../../src/index.js';
import { errorOf, httpRequest, reasonOf, type HttpResponse } from '../support/http-request.js';
import { withRule } from '../support/library-contract.js';
import { MEMBER } from '../support/library-server.js';
import { openTranscoder } from '../support/library-transcoder.js';

const descriptorSet = withRule('Upload', {
  pattern: { case: 'put', value: '/v1/shelves/*' },
  body: '*',
  additionalBindings: [{ pattern: { case: 'get', value: '/v1/shelves/*' } }],
});

/** Requests a path of a transcoder that leaves the stream of requests `Upload` out, under its rule or by its name. */
async function request(method: string, path: string): Promise<HttpResponse> {
  const rules = unboundRules(descriptorSet);
  const options = { descriptorSet, rules, basePath: '/api', unsupported: 'skip' } as const;
  const { origin } = await openTranscoder(options);
  return httpRequest(origin, { method, path, headers: { authorization: MEMBER } });
}

describe('a stream of requests', () => {
  it.each([
    ['PUT', '/api/v1/shelves/1', 'the path of its rule, which a method with another verb has, too'],
    ['POST', '/api/library.v1.Unsupported/Upload', 'its default path'],
  ])('is 501 with its reason: %s %s (%s)', async (method, path) => {
    const refused = await request(method, path);
    expect(refused.status).toBe(501);
    expect(reasonOf(refused)).toBe('REQUEST_STREAM_UNSUPPORTED');
    expect(errorOf(refused)).toMatchObject({ code: 501, status: 'UNIMPLEMENTED' });
  });

  it('takes no request from a method that is served', async () => {
    expect((await request('GET', '/api/v1/shelves/1')).status).toBe(200);
    expect((await request('DELETE', '/api/v1/shelves/1')).headers.allow).toBe('GET, HEAD, OPTIONS');
    expect((await request('POST', '/library.v1.Unsupported/Upload')).status).toBe(404);
  });
});
