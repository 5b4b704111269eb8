import { describe, expect, it } from 'vitest';
import { checkResponse } from './openapi.js';

const REQUEST = { method: 'POST', url: 'http://127.0.0.1/v1/routing?validateOnly=false' };
const EVERYWHERE = { 'content-type': 'application/json', 'x-request-id': 'r', 'cache-control': 'no-store' };
const HEADERS = { ...EVERYWHERE, location: '/v1/routing/1' };
const ROUTE = {
  id: '1',
  method: 'GET',
  path: '/',
  middleware: [],
  handler: 'h',
  createdAt: '2025-11-20T14:30:05.246Z',
};

function failed(reason: string): unknown {
  const info = { '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason, domain: 'routing.v1' };
  return { error: { code: 409, status: 'ALREADY_EXISTS', message: 'No.', details: [info] } };
}

function created(body: unknown, headers: Record<string, string> = HEADERS): Response {
  return new Response(JSON.stringify(body), { status: 201, headers });
}

describe('checkResponse', () => {
  it('accepts a documented response, whose body can still be read', async () => {
    const response = created(ROUTE);
    await checkResponse(REQUEST, response);
    await expect(response.json()).resolves.toEqual(ROUTE);
  });

  it.each([
    ['an undocumented status', REQUEST, new Response(null, { status: 418 }), 'status is not documented'],
    ['a missing field', REQUEST, created({ ...ROUTE, id: undefined }), "must have required property 'id'"],
    ['a missing header', REQUEST, created(ROUTE, EVERYWHERE), 'The header Location is missing'],
    [
      'an undocumented header',
      REQUEST,
      created(ROUTE, { ...HEADERS, etag: '"x"' }),
      'etag is not documented',
    ],
    [
      'a wrong value of a header',
      REQUEST,
      created(ROUTE, { ...HEADERS, 'cache-control': 'public' }),
      'Cache-Control must be equal',
    ],
    [
      'an undocumented content type',
      REQUEST,
      created(ROUTE, { ...HEADERS, 'content-type': 'text/json' }),
      'content type "text/json"',
    ],
    [
      'a reason of another status',
      REQUEST,
      new Response(JSON.stringify(failed('ROUTE_NOT_FOUND')), { status: 409, headers: EVERYWHERE }),
      'The reason ROUTE_NOT_FOUND is not documented here',
    ],
    [
      'a success status for an unknown path',
      { ...REQUEST, url: '/v2/routing' },
      created(ROUTE),
      'must be 404',
    ],
    [
      'an incomplete Allow header',
      { ...REQUEST, method: 'OPTIONS' },
      new Response(null, { status: 204, headers: { allow: 'POST' } }),
      'Allow must list OPTIONS, POST',
    ],
    [
      'a body for a HEAD request',
      { method: 'HEAD', url: '/healthz' },
      new Response('{}', { headers: EVERYWHERE }),
      'must be no body',
    ],
  ])('rejects a response with %s', async (_, request, response, problem) => {
    await expect(checkResponse(request, response)).rejects.toThrow(problem);
  });
});
