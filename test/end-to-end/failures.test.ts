import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { engines } from '../support/engines.js';
import { checkResponse } from '../support/openapi.js';
import { post, requestOf, type Route } from '../support/requests.js';
import { errorInfoOf, type RichError, richErrorOfCall, richErrorOfResponse } from '../support/rich-error.js';
import {
  create,
  get,
  metadataOf,
  type Service,
  startServiceOn,
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
  readonly validateOnly?: boolean;
  /** The identifier of a get; absent for a create. */
  readonly routeId?: string;
  readonly http: number;
  readonly status: string;
  readonly reason: string;
  readonly fields?: readonly string[];
  readonly challenge?: string;
}

const GOOD: Partial<Route> = { method: 'GET', path: '/users/:id', middleware: [], handler: 'getUser' };
const UNKNOWN_ID = '019b7c1e-0e6e-7000-8000-000000000001';
const nowSeconds = Math.floor(Date.now() / 1_000);
const refused = {
  http: 401,
  status: 'UNAUTHENTICATED',
  reason: 'TOKEN_INVALID',
  challenge: `${CHALLENGE}, error="invalid_token"`,
};

const CASES: readonly Case[] = [
  {
    title: 'a create without a token',
    route: GOOD,
    http: 401,
    status: 'UNAUTHENTICATED',
    reason: 'TOKEN_MISSING',
    challenge: CHALLENGE,
  },
  {
    title: 'a get without a token',
    routeId: UNKNOWN_ID,
    http: 401,
    status: 'UNAUTHENTICATED',
    reason: 'TOKEN_MISSING',
    challenge: CHALLENGE,
  },
  {
    title: 'a token without its scheme',
    headers: { authorization: tokenFor() },
    routeId: UNKNOWN_ID,
    ...refused,
    reason: 'TOKEN_MISSING',
    challenge: CHALLENGE,
  },
  { title: 'a repeated scheme', token: `Bearer ${tokenFor()}`, routeId: UNKNOWN_ID, ...refused },
  { title: 'an expired token', token: tokenFor({ exp: nowSeconds - 60 }), route: GOOD, ...refused },
  {
    title: 'a create with a token that may only read',
    token: tokenFor({ scope: 'routes:read' }),
    route: GOOD,
    http: 403,
    status: 'PERMISSION_DENIED',
    reason: 'SCOPE_MISSING',
    challenge: `${CHALLENGE}, error="insufficient_scope", scope="routes:write"`,
  },
  {
    title: 'a get with a token that may only write, whether the route exists or not',
    token: tokenFor({ scope: 'routes:write' }),
    routeId: UNKNOWN_ID,
    http: 403,
    status: 'PERMISSION_DENIED',
    reason: 'SCOPE_MISSING',
    challenge: `${CHALLENGE}, error="insufficient_scope", scope="routes:read"`,
  },
  {
    title: 'a create with several invalid fields',
    token: tokenFor(),
    route: { method: 'GE T', path: 'users//x', middleware: ['ok', '', ' x'], handler: '😀'.repeat(256) },
    http: 400,
    status: 'INVALID_ARGUMENT',
    reason: 'ROUTE_INVALID',
    fields: [
      'route.method',
      'route.path',
      'route.path',
      'route.middleware[1]',
      'route.middleware[2]',
      'route.handler',
    ],
  },
  {
    title: 'a dry run of an invalid route',
    token: tokenFor(),
    route: { ...GOOD, method: '' },
    validateOnly: true,
    http: 400,
    status: 'INVALID_ARGUMENT',
    reason: 'ROUTE_INVALID',
    fields: ['route.method'],
  },
  {
    title: 'a request id with a space',
    token: tokenFor(),
    route: GOOD,
    requestId: 'a b',
    http: 400,
    status: 'INVALID_ARGUMENT',
    reason: 'ROUTE_INVALID',
    fields: ['request_id'],
  },
  {
    title: 'an idempotency key with a space, as a header or metadata',
    token: tokenFor(),
    route: GOOD,
    headers: { 'idempotency-key': 'a b' },
    http: 400,
    status: 'INVALID_ARGUMENT',
    reason: 'ROUTE_INVALID',
    fields: ['idempotency-key'],
  },
  {
    title: 'a request id that differs from the idempotency key',
    token: tokenFor(),
    route: GOOD,
    requestId: 'one',
    headers: { 'idempotency-key': 'other' },
    http: 400,
    status: 'INVALID_ARGUMENT',
    reason: 'ROUTE_INVALID',
    fields: ['request_id'],
  },
  {
    title: 'a get of an unknown identifier',
    token: tokenFor(),
    routeId: UNKNOWN_ID,
    http: 404,
    status: 'NOT_FOUND',
    reason: 'ROUTE_NOT_FOUND',
  },
  {
    title: 'a get of an identifier with a line break, a percent sign and an emoji',
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
    service = await startServiceOn(engines[0], { topology });
  });

  afterAll(() => service.close());

  async function overGrpc({ token, headers, route, routeId = '', ...rest }: Case): Promise<RichError> {
    const metadata = metadataOf(token, { 'x-request-id': REQUEST_ID, ...headers });
    const { requestId = '', validateOnly = false } = rest;
    const outcome =
      route === undefined
        ? get(service.client, routeId, metadata)
        : create(service.client, requestOf(route, { requestId, validateOnly }), metadata);
    return richErrorOfCall(await outcome);
  }

  function overRest({ token, headers, route, routeId = '', ...rest }: Case): Promise<Response> {
    const all = {
      'x-request-id': REQUEST_ID,
      authorization: token === undefined ? '' : `Bearer ${token}`,
      ...headers,
    };
    if (route === undefined)
      return fetch(`${service.httpUrl}/v1/routing/${encodeURIComponent(routeId)}`, { headers: all });
    const { requestId = [], validateOnly = [] } = rest;
    const query = [
      ...[requestId].flat().map((value) => ['requestId', value]),
      ...[validateOnly].flat().map((value) => ['validateOnly', String(value)]),
    ];
    return post(service, route, all, `?${new URLSearchParams(query).toString()}`);
  }

  it.each(CASES)('$title fails the same way over both protocols: $status, $reason', async (call) => {
    const fromGrpc = await overGrpc(call);
    const response = await overRest(call);
    await checkResponse({ method: call.route === undefined ? 'GET' : 'POST', url: response.url }, response);
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

function fieldsOf({ details }: RichError): (string | undefined)[] {
  const all = details as { fieldViolations?: { field: string }[] }[];
  return all.flatMap(({ fieldViolations = [] }) => fieldViolations.map(({ field }) => field));
}
