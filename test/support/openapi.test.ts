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

describe('a response', () => {
  it('that is documented passes, and can still be read', async () => {
    const response = created(ROUTE);
    await checkResponse(REQUEST, response);
    await expect(response.json()).resolves.toEqual(ROUTE);
  });

  it('passes as plain HTTP, too', async () => {
    await checkResponse(REQUEST, { status: 201, headers: HEADERS, text: JSON.stringify(ROUTE) });
  });

  it.each([
    [
      'a status that is not documented',
      REQUEST,
      new Response(null, { status: 418 }),
      'status is not documented',
    ],
    ['a field too few', REQUEST, created({ ...ROUTE, id: undefined }), "must have required property 'id'"],
    ['a field too many', REQUEST, created({ ...ROUTE, owner: 'me' }), 'must NOT have additional properties'],
    ['a value out of bounds', REQUEST, created({ ...ROUTE, method: 'GE T' }), 'must match pattern'],
    ['a header too few', REQUEST, created(ROUTE, EVERYWHERE), 'The header Location is missing'],
    ['a header too many', REQUEST, created(ROUTE, { ...HEADERS, etag: '"x"' }), 'etag is not documented'],
    [
      'another value of a header',
      REQUEST,
      created(ROUTE, { ...HEADERS, 'cache-control': 'public' }),
      'Cache-Control must be equal',
    ],
    [
      'another content type',
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
    ['a path that is not there, found', { ...REQUEST, url: '/v2/routing' }, created(ROUTE), 'must be 404'],
    ['a method that is not there, taken', { ...REQUEST, method: 'PUT' }, created(ROUTE), 'must be 405'],
    [
      'an Allow that leaves one out',
      { ...REQUEST, method: 'OPTIONS' },
      new Response(null, { status: 204, headers: { allow: 'POST' } }),
      'Allow must list OPTIONS, POST',
    ],
    [
      'a body for HEAD',
      { method: 'HEAD', url: '/healthz' },
      new Response('{}', { headers: EVERYWHERE }),
      'must be no body',
    ],
  ])('with %s is refused', async (_, request, response, problem) => {
    await expect(checkResponse(request, response)).rejects.toThrow(problem);
  });
});
