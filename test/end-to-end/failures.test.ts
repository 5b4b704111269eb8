import { createSecretKey } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { checkResponse } from '../support/openapi.js';
import { post, requestOf, type Route } from '../support/requests.js';
import { errorInfoOf, type RichError, richErrorOfCall, richErrorOfResponse } from '../support/rich-error.js';
import {
  create,
  get,
  metadataOf,
  type Service,
  startService,
  tokenFor,
  TOPOLOGIES,
} from '../support/service.js';

/** The header `x-request-id`, which names a call. The field `requestId` of a create is another thing: its idempotency key. */
const X_REQUEST_ID = 'one-name-for-both-calls';
const CHALLENGE = 'Bearer realm="route-registry"';

/** A failing call, and its failure over both protocols. */
type Case = (Create | Get) & Failure;

interface Create {
  readonly create: Partial<Route>;
  /** The idempotency key. */
  readonly requestId?: string;
}

interface Get {
  /** The identifier. */
  readonly get: string;
}

interface Failure {
  readonly title: string;
  readonly token?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** The status over REST. */
  readonly http: number;
  /** The code over gRPC, by its name. */
  readonly status: string;
  readonly reason: string;
  readonly fields?: readonly string[];
  readonly challenge?: string;
}

const GOOD: Partial<Route> = { method: 'GET', path: '/users/:id', middleware: [], handler: 'getUser' };
const unauthenticated = { http: 401, status: 'UNAUTHENTICATED' };
const forbidden = { http: 403, status: 'PERMISSION_DENIED', reason: 'SCOPE_MISSING' };
const invalid = { http: 400, status: 'INVALID_ARGUMENT', reason: 'ROUTE_INVALID', token: tokenFor() };
/** The key of another issuer. */
const stranger = { key: createSecretKey(Buffer.alloc(32)), algorithm: 'HS256', keyid: 'theirs' } as const;

const CASES: readonly Case[] = [
  {
    title: 'a create without a token',
    create: GOOD,
    ...unauthenticated,
    reason: 'TOKEN_MISSING',
    challenge: CHALLENGE,
  },
  {
    title: 'a create with a token of somebody else',
    token: tokenFor({}, stranger),
    create: GOOD,
    ...unauthenticated,
    reason: 'TOKEN_INVALID',
    challenge: `${CHALLENGE}, error="invalid_token"`,
  },
  {
    title: 'a create with a token that may only read',
    token: tokenFor({ scope: 'routes:read' }),
    create: GOOD,
    ...forbidden,
    challenge: `${CHALLENGE}, error="insufficient_scope", scope="routes:write"`,
  },
  {
    title: 'a get with a token that may only write',
    token: tokenFor({ scope: 'routes:write' }),
    get: 'unknown',
    ...forbidden,
    challenge: `${CHALLENGE}, error="insufficient_scope", scope="routes:read"`,
  },
  {
    title: 'a create with several invalid fields',
    create: { method: 'GE T', path: 'users', middleware: ['ok', ''], handler: 'h'.repeat(256) },
    ...invalid,
    fields: ['route.method', 'route.path', 'route.middleware[1]', 'route.handler'],
  },
  {
    title: 'a request id with a space that differs from the idempotency key',
    create: GOOD,
    requestId: 'a b',
    headers: { 'idempotency-key': 'c d' },
    ...invalid,
    // Each has a space; and the two differ.
    fields: ['request_id', 'idempotency-key', 'request_id'],
  },
  {
    title:
      'a get of an identifier that the service did not issue, with a line break, a percent sign and an emoji',
    token: tokenFor(),
    get: '\n%😀',
    http: 404,
    status: 'NOT_FOUND',
    reason: 'ROUTE_NOT_FOUND',
  },
];

describe.each(TOPOLOGIES)('with the gateway %s,', (topology) => {
  let service: Service;

  beforeAll(async () => {
    service = await startService({ databaseUrl: 'sqlite::memory:', topology });
  });

  afterAll(() => service.close());

  async function overGrpc(call: Case): Promise<RichError> {
    const metadata = metadataOf(call.token, { 'x-request-id': X_REQUEST_ID, ...call.headers });
    const outcome =
      'get' in call
        ? get(service.client, call.get, metadata)
        : create(service.client, requestOf(call.create, { requestId: call.requestId ?? '' }), metadata);
    return richErrorOfCall(await outcome);
  }

  function overRest(call: Case): Promise<Response> {
    const headers = {
      'x-request-id': X_REQUEST_ID,
      authorization: call.token === undefined ? '' : `Bearer ${call.token}`,
      ...call.headers,
    };
    return 'get' in call
      ? fetch(`${service.httpUrl}/v1/routing/${encodeURIComponent(call.get)}`, { headers })
      : post(
          service,
          call.create,
          headers,
          call.requestId && `?requestId=${encodeURIComponent(call.requestId)}`,
        );
  }

  it.each(CASES)('$title fails the same way over both protocols: $status, $reason', async (call) => {
    const fromGrpc = await overGrpc(call);
    const response = await overRest(call);
    await checkResponse('get' in call ? 'GET' : 'POST', response);
    const fromRest = await richErrorOfResponse(response);
    expect(fromRest).toEqual(fromGrpc);
    expect(response.status).toBe(call.http);
    expect(fromRest.status).toBe(call.status);
    expect(errorInfoOf(fromRest)).toMatchObject({ reason: call.reason, domain: 'routing.v1' });
    expect(fieldsOf(fromRest)).toEqual(call.fields ?? []);
    expect(fromRest.details).toContainEqual({
      '@type': 'type.googleapis.com/google.rpc.RequestInfo',
      requestId: X_REQUEST_ID,
    });
    expect(response.headers.get('www-authenticate')).toBe(call.challenge ?? null);
    expect(response.headers.get('cache-control')).toBe('no-store');
    expect(response.headers.get('content-type')).toBe('application/json');
    expect(response.headers.get('x-request-id')).toBe(X_REQUEST_ID);
  });
});

function fieldsOf({ details }: RichError): (string | undefined)[] {
  const all = details as { fieldViolations?: { field: string }[] }[];
  return all.flatMap(({ fieldViolations = [] }) => fieldViolations.map(({ field }) => field));
}
