import { describe, expect, it } from 'vitest';
import { errorOf, httpRequest, type HttpResponse } from '../support/http-request.js';
import { MEMBER } from '../support/library-server.js';
import { openTranscoder } from '../support/library-transcoder.js';

/** Requests a path with the parameters of Google's clients, and some of trackers, ignored. */
async function request(
  path: string,
  {
    ignoredParameters = ['$alt', 'key', 'utm_*', 'map[a]'],
    lenient = false,
    ...content
  }: { body?: string; ignoredParameters?: string[]; lenient?: boolean } = {},
): Promise<HttpResponse> {
  const gateway = await openTranscoder({ ignoredParameters, lenient });
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

  it.each(['string_value=a', 'stringValue=a'])(
    'are read where the method has such a field: %s',
    async (query) => {
      const got = await request(`/v1/echo?${query}`, { ignoredParameters: ['*'] });
      expect(JSON.parse(got.text)).toMatchObject({ stringValue: 'a' });
    },
  );

  it.each([
    ['int32_value=a', 'a value that the field refuses'],
    ['struct=a', 'a field that takes no value from a query'],
    ['string_map.a=b', 'a name that leads into a field without fields'],
    ['time.seconds=5', 'a field within a well-known type'],
    [`${'nested.'.repeat(200)}bool_value=true`, 'a name that is too deep'],
    ['%ff=a', 'a name that is not UTF-8'],
  ])('do not hide what is wrong with a known one: %s (%s)', async (query) => {
    expect((await request(`/v1/echo?${query}`, { ignoredParameters: ['*'] })).status).toBe(400);
    expect((await request(`/v1/echo?${query}`, { lenient: true })).status).toBe(400);
  });

  it.each(['nested.nothing', 'nested.nested.nothing', 'time.nothing'])(
    'may be those of unknown fields of a message, as in grpc-gateway: %s',
    async (name) => {
      const path = `/v1/echo?${name}=1&string_value=a`;
      expect((await request(path, { ignoredParameters: ['*'] })).status).toBe(200);
      expect((await request(path, { lenient: true })).status).toBe(200);
    },
  );

  it('are all unknown ones with lenient, but no key of a map', async () => {
    const got = await request('/v1/echo?nothing=1&string_map[a]=b&nothing[a]=c', { lenient: true });
    expect(JSON.parse(got.text)).toMatchObject({ stringMap: { a: 'b' } });
    const dots = '.'.repeat(100);
    const dotted = await request(`/v1/echo?string_map[${dots}]=b&nothing[${dots}]=c`, { lenient: true });
    expect(JSON.parse(dotted.text)).toMatchObject({ stringMap: { [dots]: 'b' } });
  });

  it.each(['Key', 'utm', 'alt', 'constructor', '%ff', 'map'])('leave %s unknown', async (name) => {
    const refused = await request(`/v1/shelves/1?key=a&${name}=b`);
    expect(errorOf(refused)).toMatchObject({ code: 400 });
    expect(refused.text).toContain(`"field":"${name}"`);
  });
});
