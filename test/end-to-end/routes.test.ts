import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeOn } from '../support/needs.js';
import { checkResponse } from '../support/openapi.js';
import { type CreateRouteRequest, post as postTo, requestOf as requestFor } from '../support/requests.js';
import { errorInfoOf, richErrorOfCall, richErrorOfResponse } from '../support/rich-error.js';
import {
  create,
  get,
  metadataOf,
  type Outcome,
  type Service,
  startServiceOn,
  tokenFor,
} from '../support/service.js';
import { setups } from '../support/setups.js';

const DEFINITION = {
  method: 'GET',
  path: '/users/:id',
  middleware: [
    'authenticate',
    '👩‍👩‍👧',
    'authenticate',
    ...Array.from({ length: 61 }, (_, index) => `𝒳-${index}`),
  ],
  handler: '😀'.repeat(255),
};

function requestOf(change: Partial<CreateRouteRequest> = {}): CreateRouteRequest {
  return requestFor(DEFINITION, change);
}

describeOn(setups)('on $name', ({ engine, topology }) => {
  let service: Service;

  beforeAll(async () => {
    // A busy machine takes longer than five seconds for 50 calls at once.
    service = await startServiceOn(engine, { topology, settings: { DEADLINE_MS: '60000' } });
  });

  afterAll(() => service.close());

  async function post(body: unknown, query = '', headers: Record<string, string> = {}): Promise<Response> {
    const response = await postTo(service, body, headers, query);
    await checkResponse('POST', response);
    return response;
  }

  async function fetchRoute(id: string, headers: Record<string, string> = {}): Promise<Response> {
    const response = await fetch(`${service.httpUrl}/v1/routing/${id}`, {
      headers: { authorization: `Bearer ${tokenFor()}`, ...headers },
    });
    await checkResponse('GET', response);
    return response;
  }

  it('a route created over REST is the same over gRPC, and the same bytes in a later get', async () => {
    const created = await post(DEFINITION);
    const text = await created.text();
    const json = JSON.parse(text) as { id: string; createdAt: string };
    expect(created.status).toBe(201);
    expect(created.headers.get('location')).toBe(`/v1/routing/${json.id}`);
    expect(json).toEqual({ ...DEFINITION, id: json.id, createdAt: json.createdAt });
    expect(json.createdAt).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);

    const { route } = await get(service.client, json.id, metadataOf(tokenFor()));
    expect(route).toEqual({ ...json, createdAt: new Date(json.createdAt) });
    const fetched = await fetchRoute(json.id);
    expect(fetched.status).toBe(200);
    await expect(fetched.text()).resolves.toBe(text);
  });

  it('what the service assigns is ignored in a create, and absent middleware becomes an empty list', async () => {
    const assigned = { id: '019b7c1e-0e6e-7000-8000-000000000001', createdAt: '2001-01-01T00:00:00Z' };
    const created = await post({ method: 'GET', path: '/', handler: 'h', ...assigned });
    const { id, createdAt, ...rest } = (await created.json()) as Record<string, unknown>;
    expect(id).not.toBe(assigned.id);
    expect(createdAt).not.toContain('2001');
    expect(rest).toEqual({ method: 'GET', path: '/', middleware: [], handler: 'h' });
  });

  it('a retry with the same request id returns the first route to the same caller, over either protocol, and says so', async () => {
    const key = { 'idempotency-key': 'retry' };
    const first = await post(DEFINITION, '?requestId=retry');
    const text = await first.text();
    const repeated = [await post(DEFINITION, '', key), await post(DEFINITION, '?request_id=retry', key)];
    for (const response of repeated) await expect(response.text()).resolves.toBe(text);
    const dryRun = await post(DEFINITION, '?requestId=retry&validateOnly=true');
    const seen = [first, ...repeated, dryRun].map(({ status, headers }) => [
      status,
      headers.get('idempotent-replayed'),
    ]);
    expect(seen).toEqual([
      [201, null],
      [201, 'true'],
      [201, 'true'],
      [200, null],
    ]);

    const { id } = JSON.parse(text) as { id: string };
    const overGrpc = ({ sub = 'tester', validateOnly = false }): Promise<Outcome> =>
      create(service.client, requestOf({ validateOnly }), metadataOf(tokenFor({ sub }), key));
    const outcomes = [
      await overGrpc({}),
      await overGrpc({ validateOnly: true }),
      await overGrpc({ sub: 'another' }),
    ];
    expect(outcomes.map(({ trailers }) => trailers.get('idempotent-replayed'))).toEqual([['true'], [], []]);
    expect(outcomes.map(({ route }) => route?.id === id)).toEqual([true, false, false]);
  });

  it('a request id reused for another route is refused the same way over both protocols', async () => {
    const first = (await (await post(DEFINITION, '?requestId=retry-2')).json()) as { id: string };
    const response = await post({ ...DEFINITION, handler: 'other' }, '?requestId=retry-2', {
      'x-request-id': 'r',
    });
    const other = { ...DEFINITION, handler: 'other', id: '', createdAt: undefined };
    const outcome = await create(
      service.client,
      requestOf({ route: other, requestId: 'retry-2' }),
      metadataOf(tokenFor(), { 'x-request-id': 'r' }),
    );
    expect(response.status).toBe(409);
    const error = await richErrorOfResponse(response);
    expect(errorInfoOf(error)).toMatchObject({
      reason: 'REQUEST_ID_REUSED',
      metadata: { route_id: first.id },
    });
    expect(error).toEqual(richErrorOfCall(outcome));
  });

  it('a dry run returns the route without an id and a creation time', async () => {
    const response = await post(DEFINITION, '?validateOnly=true');
    expect(response.status).toBe(200);
    expect(response.headers.get('location')).toBeNull();
    await expect(response.json()).resolves.toEqual(DEFINITION);
    const { route } = await create(service.client, requestOf({ validateOnly: true }), metadataOf(tokenFor()));
    expect(route).toEqual({ ...DEFINITION, id: '', createdAt: undefined });
  });

  it('a route may be cached forever, and is revalidated without a body', async () => {
    const created = (await (await post(DEFINITION)).json()) as { id: string };
    const fetched = await fetchRoute(created.id);
    const tag = fetched.headers.get('etag') ?? '';
    expect(tag).toMatch(/^"[^"]+"$/);
    expect(fetched.headers.get('cache-control')).toBe('private, max-age=31536000, immutable');
    expect(fetched.headers.get('vary')).toBe('Authorization');
    const again = await fetchRoute(created.id, { 'if-none-match': tag });
    expect(again.status).toBe(304);
    await expect(again.text()).resolves.toBe('');
    const unauthenticated = await fetch(`${service.httpUrl}/v1/routing/${created.id}`, {
      headers: { 'if-none-match': tag },
    });
    expect(unauthenticated.status).toBe(401);
  });

  it('50 concurrent retries of a create over both protocols create one route', async () => {
    const overRest = async (): Promise<{ id: string }> =>
      (await (await post(DEFINITION, '?requestId=burst')).json()) as { id: string };
    const overGrpc = async () =>
      (await create(service.client, requestOf({ requestId: 'burst' }), metadataOf(tokenFor()))).route;
    const creates = Array.from({ length: 25 }, () => [overRest(), overGrpc()]).flat();
    const ids = (await Promise.all(creates)).map((route) => route?.id);
    expect(new Set(ids)).toEqual(new Set([ids[0]]));
    expect(ids[0]).toMatch(/^[0-9a-f-]{36}$/);
  });
});

describeOn(setups)('on $name, with DUPLICATE_ROUTES=reject,', ({ engine, topology }) => {
  let service: Service;

  beforeAll(async () => {
    service = await startServiceOn(engine, { topology, settings: { DUPLICATE_ROUTES: 'reject' } });
  });

  afterAll(() => service.close());

  it('a duplicate is refused with the id of the first route, the same way over both protocols and in dry runs', async () => {
    const first = await create(service.client, requestOf(), metadataOf(tokenFor()));
    const second = { ...DEFINITION, path: '/users/:user_id', handler: 'other', id: '', createdAt: undefined };
    const metadata = metadataOf(tokenFor(), { 'x-request-id': 'r' });
    const outcome = await create(service.client, requestOf({ route: second }), metadata);
    const dryRun = await create(service.client, requestOf({ route: second, validateOnly: true }), metadata);
    const definition = { ...DEFINITION, path: '/users/:user_id', handler: 'other' };
    const response = await postTo(service, definition, { 'x-request-id': 'r' });
    const error = richErrorOfCall(outcome);
    expect(error.status).toBe('ALREADY_EXISTS');
    expect(errorInfoOf(error)).toMatchObject({
      reason: 'ROUTE_EXISTS',
      metadata: { route_id: first.route?.id },
    });
    expect(richErrorOfCall(dryRun)).toEqual(error);
    expect(response.status).toBe(409);
    await expect(richErrorOfResponse(response)).resolves.toEqual(error);
  });
});
