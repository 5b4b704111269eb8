import { describe, expect, it } from 'vitest';
import { errorOf, fieldsOf, reasonOf, type HttpRequest, type HttpResponse } from './support/http-request.js';
import { MEMBER, VISITOR } from './support/library-server.js';
import { sharedTranscoder } from './support/shared-transcoder.js';

const JSON_TYPE = 'application/json';
const MAX_BODY_BYTES = 65_536;

const gateway = sharedTranscoder();

/** Sends a request, as JSON unless it says otherwise. @param authorization none, or the header */
function send(request: HttpRequest, authorization: { authorization?: string }): Promise<HttpResponse> {
  const headers = { 'content-type': JSON_TYPE, ...request.headers, ...authorization };
  return gateway.send({ ...request, headers });
}

/** A response that refuses a request. */
interface Refusal {
  readonly status: number;
  readonly reason: string;
  /** The fields that it names. Default: none. */
  readonly fields?: string[];
  /** The headers of the response that say what is accepted. Default: none. */
  readonly accepts?: Readonly<Record<string, string>>;
}

const MALFORMED: Refusal = { status: 400, reason: 'REQUEST_MALFORMED' };
const TOO_LARGE: Refusal = { status: 413, reason: 'REQUEST_TOO_LARGE' };
const UNSUPPORTED: Refusal = { status: 415, reason: 'CONTENT_TYPE_UNSUPPORTED' };

/** The headers of a response that say what is accepted. */
function acceptedBy({ headers }: HttpResponse): Refusal['accepts'] {
  const names = ['accept-post', 'accept-patch', 'accept-encoding'].filter((name) => name in headers);
  return Object.fromEntries(names.map((name) => [name, String(headers[name])]));
}

const SHELF = { method: 'GET', path: '/v1/shelves/1' };
const CREATE = { method: 'POST', path: '/v1/shelves', body: '{}' };
const ECHO = { method: 'POST', path: '/v1/echo/deep/a' };
const BOOK = '/v1/shelves/1/books/2';

const wrong: { readonly why: string; readonly request: HttpRequest; readonly refusal: Refusal }[] = [
  {
    why: 'a parameter is unknown',
    request: { ...SHELF, path: `${SHELF.path}?a=1` },
    refusal: { ...MALFORMED, fields: ['a'] },
  },
  {
    why: 'the timeout is not a number',
    request: { ...SHELF, headers: { 'request-timeout': 'x' } },
    refusal: { ...MALFORMED, fields: ['request-timeout'] },
  },
  {
    why: 'the idempotency key is not ASCII',
    request: { ...CREATE, headers: { 'idempotency-key': '\u00ff' } },
    refusal: { ...MALFORMED, fields: ['idempotency-key'] },
  },
  {
    why: 'the method takes no body',
    request: { method: 'DELETE', path: BOOK, body: '{}' },
    refusal: MALFORMED,
  },
  { why: 'the body is missing', request: { method: 'POST', path: '/v1/shelves' }, refusal: MALFORMED },
  { why: 'the body is not JSON', request: { ...CREATE, body: '{' }, refusal: MALFORMED },
  {
    why: 'a key is repeated',
    request: { ...CREATE, body: '{"createdAt":null,"createdAt":null}' },
    refusal: { ...MALFORMED, fields: ['shelf.created_at'] },
  },
  {
    why: 'one field has the wrong type and another a wrong value',
    request: { ...ECHO, body: '{"stringValue":1,"int32Value":3000000000}' },
    refusal: { ...MALFORMED, fields: ['string_value', 'int32_value'] },
  },
  {
    why: 'the body is too large',
    request: { ...CREATE, body: ' '.repeat(MAX_BODY_BYTES + 1) },
    refusal: TOO_LARGE,
  },
  {
    why: 'the body is too large in chunks',
    request: {
      ...CREATE,
      headers: { 'transfer-encoding': 'chunked' },
      body: ' '.repeat(MAX_BODY_BYTES + 1),
    },
    refusal: TOO_LARGE,
  },
  ...['gzip', ''].map((coding) => ({
    why: `the content coding is "${coding}"`,
    request: { ...CREATE, headers: { 'content-encoding': coding } },
    refusal: { ...UNSUPPORTED, accepts: { 'accept-post': JSON_TYPE, 'accept-encoding': 'identity' } },
  })),
  {
    why: 'the content type is repeated',
    request: { ...CREATE, headers: { 'content-type': [JSON_TYPE, 'text/plain'] } },
    refusal: { ...UNSUPPORTED, accepts: { 'accept-post': JSON_TYPE } },
  },
  {
    why: 'the type of a PATCH is not JSON',
    request: { method: 'PATCH', path: BOOK, headers: { 'content-type': 'text/json' }, body: '{}' },
    refusal: { ...UNSUPPORTED, accepts: { 'accept-patch': JSON_TYPE } },
  },
];

describe('an invalid request', () => {
  it.each(wrong)('is $refusal.status $refusal.reason if $why', async ({ request, refusal }) => {
    const { status, reason, fields = [], accepts = {} } = refusal;
    const response = await send(request, { authorization: MEMBER });
    expect([response.status, reasonOf(response)]).toEqual([status, reason]);
    expect(fieldsOf(response)).toEqual(fields);
    expect(errorOf(response).message).toContain(fields.join(', '));
    expect(acceptedBy(response)).toEqual(accepts);
  });

  it.each(wrong)('has an error with its id, which is not stored, if $why', async ({ request, refusal }) => {
    const response = await send(request, { authorization: MEMBER });
    const requestInfo = {
      '@type': 'type.googleapis.com/google.rpc.RequestInfo',
      requestId: response.headers['x-request-id'],
    };
    expect(response.headers['cache-control']).toBe('no-store');
    expect(errorOf(response).code).toBe(refusal.status);
    expect(errorOf(response).details).toContainEqual(requestInfo);
  });

  it('has no field in its message if the name of the wrong one is empty', async () => {
    const response = await send({ path: '/v1/shelves/1?=1' }, { authorization: MEMBER });
    expect(fieldsOf(response)).toEqual(['']);
    expect(errorOf(response).message).toBe('The request is not valid.');
  });

  it('is 403 for a client without permission, which does not learn what else is wrong', async () => {
    const response = await send({ ...CREATE, body: '{"x":1}' }, { authorization: VISITOR });
    expect(response).toMatchObject({
      status: 403,
      headers: {
        'www-authenticate': 'Bearer realm="library", error="insufficient_scope", scope="books:write"',
      },
    });
    expect(errorOf(response).details).toEqual([errorInfo('SCOPE_MISSING', { scope: 'books:write' })]);
  });

  it.each(wrong)(
    'is 401 for an unauthenticated client, which does not learn that $why',
    async ({ request }) => {
      const response = await send(request, {});
      expect(response).toMatchObject({
        status: 401,
        headers: { 'www-authenticate': 'Bearer realm="library"' },
      });
      expect(errorOf(response).details).toEqual([errorInfo('TOKEN_MISSING')]);
    },
  );
});

/** The detail of an error that tells its reason. */
function errorInfo(reason: string, metadata?: Record<string, string>): object {
  const type = 'type.googleapis.com/google.rpc.ErrorInfo';
  return { '@type': type, reason, domain: 'library.v1', metadata };
}
