import { createSecretKey } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { checkResponse } from '../support/openapi.js';
import { post, requestOf, type Route } from '../support/requests.js';
import { errorInfoOf, type RichError, richErrorOfCall, richErrorOfResponse } from '../support/rich-error.js';
import { runningService } from '../support/running-service.js';
import {
  create,
  get,
  metadataOf,
  type Service,
  startService,
  tokenFor,
  TOPOLOGIES,
} from '../support/service.js';

const REQUEST_ID = 'one-name-for-both-calls';
const CHALLENGE = 'Bearer realm="route-registry"';

/** A failing call, and its failure over both protocols. */
interface Case {
  readonly title: string;
  readonly token?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** The route of a create; absent for a get. */
  readonly route?: Partial<Route>;
  readonly requestId?: string;
  /** The identifier of a get; absent for a create. */
  readonly routeId?: string;
  readonly http: number;
  readonly status: string;
  readonly reason: string;
  readonly fields?: readonly string[];
  readonly challenge?: string;
}

const GOOD: Partial<Route> = { method: 'GET', path: '/users/:id', middleware: [], handler: 'getUser' };
const unauthenticated = { http: 401, status: 'UNAUTHENTICATED' };
const forbidden = { http: 403, status: 'PERMISSION_DENIED', reason: 'SCOPE_MISSING' };
const invalid = { http: 400, status: 'INVALID_ARGUMENT', reason: 'ROUTE_INVALID', token: tokenFor() };
const stranger = { key: createSecretKey(Buffer.alloc(32)), algorithm: 'HS256', keyid: 'theirs' } as const;

const CASES: readonly Case[] = [
  {
    title: 'a create without a token',
    route: GOOD,
    ...unauthenticated,
    reason: 'TOKEN_MISSING',
    challenge: CHALLENGE,
  },
  {
    title: 'a create with a token of somebody else',
    token: tokenFor({}, stranger),
    route: GOOD,
    ...unauthenticated,
    reason: 'TOKEN_INVALID',
    challenge: `${CHALLENGE}, error="invalid_token"`,
  },
  {
    title: 'a create with a token that may only read',
    token: tokenFor({ scope: 'routes:read' }),
    route: GOOD,
    ...forbidden,
    challenge: `${CHALLENGE}, error="insufficient_scope", scope="routes:write"`,
  },
  {
    title: 'a get with a token that may only write, whether the route exists or not',
    token: tokenFor({ scope: 'routes:write' }),
    routeId: 'unknown',
    ...forbidden,
    challenge: `${CHALLENGE}, error="insufficient_scope", scope="routes:read"`,
  },
  {
    title: 'a create with several invalid fields',
    route: { method: 'GE T', path: 'users', middleware: ['ok', ''], handler: 'h'.repeat(256) },
    ...invalid,
    fields: ['route.method', 'route.path', 'route.middleware[1]', 'route.handler'],
  },
  {
    title: 'a request id with a space that differs from the idempotency key',
    route: GOOD,
    requestId: 'a b',
    headers: { 'idempotency-key': 'c d' },
    ...invalid,
    fields: ['request_id', 'idempotency-key', 'request_id'],
  },
  {
    title:
      'a get of an identifier that the service did not issue, with a line break, a percent sign and an emoji',
    token: tokenFor(),
    routeId: '\n%😀',
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

  async function overGrpc({ token, headers, route, requestId = '', routeId = '' }: Case): Promise<RichError> {
    const metadata = metadataOf(token, { 'x-request-id': REQUEST_ID, ...headers });
    const outcome =
      route === undefined
        ? get(service.client, routeId, metadata)
        : create(service.client, requestOf(route, { requestId }), metadata);
    return richErrorOfCall(await outcome);
  }

  function overRest({ token, headers, route, requestId, routeId = '' }: Case): Promise<Response> {
    const all = {
      'x-request-id': REQUEST_ID,
      authorization: token === undefined ? '' : `Bearer ${token}`,
      ...headers,
    };
    return route === undefined
      ? fetch(`${service.httpUrl}/v1/routing/${encodeURIComponent(routeId)}`, { headers: all })
      : post(service, route, all, requestId && `?requestId=${encodeURIComponent(requestId)}`);
  }

  it.each(CASES)('$title fails the same way over both protocols: $status, $reason', async (call) => {
    const fromGrpc = await overGrpc(call);
    const response = await overRest(call);
    await checkResponse(call.route === undefined ? 'GET' : 'POST', response);
    const fromRest = await richErrorOfResponse(response);
    expect(fromRest).toEqual(fromGrpc);
    expect(response.status).toBe(call.http);
    expect(fromRest.status).toBe(call.status);
    expect(errorInfoOf(fromRest)).toMatchObject({ reason: call.reason, domain: 'routing.v1' });
    expect(fieldsOf(fromRest)).toEqual(call.fields ?? []);
    expect(fromRest.details).toContainEqual({
      '@type': 'type.googleapis.com/google.rpc.RequestInfo',
      requestId: REQUEST_ID,
    });
    expect(response.headers.get('www-authenticate')).toBe(call.challenge ?? null);
    expect(response.headers.get('cache-control')).toBe('no-store');
    expect(response.headers.get('content-type')).toBe('application/json');
    expect(response.headers.get('x-request-id')).toBe(REQUEST_ID);
  });
});

it('scopes have the names and places of the settings, over both protocols, and a refusal names one', async () => {
  const names = { JWT_READ_SCOPE: 'reader', JWT_WRITE_SCOPE: 'writer', JWT_SCOPE_CLAIMS: '/in/roles' };
  const service = await runningService({ settings: names });
  const as = (role: string): string => tokenFor({ in: { roles: [role] } });
  const { route } = await create(service.client, requestOf(), metadataOf(as('writer')));
  expect((await get(service.client, route?.id ?? '', metadataOf(as('reader')))).route).toEqual(route);
  const refused = await create(service.client, requestOf(), metadataOf(as('reader')));
  const expected = { reason: 'SCOPE_MISSING', metadata: { scope: 'writer' } };
  expect(errorInfoOf(richErrorOfCall(refused))).toMatchObject(expected);
  const response = await post(service, undefined, { authorization: `Bearer ${as('reader')}` });
  expect(response.headers.get('www-authenticate')).toContain('scope="writer"');
  expect(errorInfoOf(await richErrorOfResponse(response))).toMatchObject(expected);
});

function fieldsOf({ details }: RichError): (string | undefined)[] {
  const all = details as { fieldViolations?: { field: string }[] }[];
  return all.flatMap(({ fieldViolations = [] }) => fieldViolations.map(({ field }) => field));
}
