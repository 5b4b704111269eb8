import { describe, expect, it, onTestFinished } from 'vitest';
import { errorOf, httpRequest, type HttpResponse } from './support/http-request.js';
import { MEMBER } from './support/library-server.js';
import { startTranscoder } from './support/library-transcoder.js';

/** Requests a path with the parameters of Google's clients, and some of trackers, ignored. */
async function request(path: string, content: { body?: string } = {}): Promise<HttpResponse> {
  const ignoredParameters = ['$alt', 'key', 'utm_*', 'string_value', 'map[a]'];
  const gateway = await startTranscoder({ ignoredParameters });
  onTestFinished(() => gateway.close());
  const headers = { authorization: MEMBER, 'content-type': 'application/json' };
  return httpRequest(gateway.origin, {
    method: 'body' in content ? 'POST' : 'GET',
    path,
    headers,
    ...content,
  });
}

describe('ignoredParameters', () => {
  it.each([
    '$alt=json',
    '%24alt=json;enum-encoding=int',
    'key=1&key=2',
    'key=%ff',
    'key',
    'utm_source=a&utm_%6dedium=b',
    'map[a]=b&map%5Ba%5D=b',
  ])('are ignored, escaped or not, whatever their value: %s', async (query) => {
    const got = await request(`/v1/shelves/1?${query}`);
    expect(got.status).toBe(200);
  });

  it('are ignored where the body has all fields', async () => {
    const got = await request('/v1/metadata?key=a&utm_source=b', { body: '{}' });
    expect(got.status).toBe(200);
  });

  it('are ignored where the method has such a field', async () => {
    const got = await request('/v1/echo?string_value=a&stringValue=b');
    expect(JSON.parse(got.text)).toMatchObject({ stringValue: 'b' });
  });

  it.each(['Key', 'utm', 'alt', 'constructor', '%ff', 'map'])('leave %s unknown', async (name) => {
    const refused = await request(`/v1/shelves/1?key=a&${name}=b`);
    expect(errorOf(refused)).toMatchObject({ code: 400 });
    expect(refused.text).toContain(`"field":"${name}"`);
  });
});
