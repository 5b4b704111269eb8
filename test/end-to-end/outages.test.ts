import { generateKeyPairSync } from 'node:crypto';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { CreateRouteRequest } from '../../src/gen/routing/v1/route_service.js';
import { type Engine, engines } from '../support/engines.js';
import { freePort } from '../support/free-port.js';
import { itOn } from '../support/needs.js';
import { checkResponse } from '../support/openapi.js';
import { errorInfoOf, richErrorOfCall, richErrorOfResponse } from '../support/rich-error.js';
import {
  create,
  metadataOf,
  type Service,
  type ServiceOptions,
  startService,
  startServiceOn,
  tokenFor,
  TOPOLOGIES,
} from '../support/service.js';
import { createProxiedDatabase, type TcpProxy } from '../support/tcp-proxy.js';

const DEFINITION = { method: 'GET', path: '/users/:id', middleware: [] as string[], handler: 'h' };

type Options = Omit<ServiceOptions, 'databaseUrl'>;

async function start(engine: Engine, options: Options): Promise<Service> {
  const service = await startServiceOn(engine, options);
  onTestFinished(() => service.close());
  return service;
}

/** The service on a database behind a network that can be cut. */
async function startBehindProxy(engine: Engine, options: Options): Promise<[Service, TcpProxy]> {
  const { proxy, url } = await createProxiedDatabase(engine);
  const service = await startService({ ...options, databaseUrl: url });
  onTestFinished(() => service.close());
  return [service, proxy];
}

/** Creates over both faces, and expects both to fail alike. */
async function expectAlike(
  service: Service,
  change: Partial<typeof DEFINITION>,
  expected: { http: number; status: string; reason: string; retryAfter: string | null },
  token = tokenFor(),
): Promise<void> {
  const definition = { ...DEFINITION, ...change };
  const request: CreateRouteRequest = {
    route: { ...definition, id: '', createdAt: undefined },
    requestId: '',
    validateOnly: false,
  };
  const requestId = { 'x-request-id': 'one-name' };
  const fromGrpc = richErrorOfCall(await create(service.client, request, metadataOf(token, requestId)));
  const url = `${service.httpUrl}/v1/routing`;
  const response = await fetch(url, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...requestId },
    body: JSON.stringify(definition),
  });
  await checkResponse({ method: 'POST', url }, response);
  const fromRest = await richErrorOfResponse(response);
  expect(fromRest).toEqual(fromGrpc);
  expect(response.status).toBe(expected.http);
  expect(fromRest.status).toBe(expected.status);
  expect(errorInfoOf(fromRest).reason).toBe(expected.reason);
  expect(response.headers.get('retry-after')).toBe(expected.retryAfter);
}

describe.each(TOPOLOGIES)('both faces report alike, gateway %s,', (topology) => {
  itOn(engines.slice(1))('that the database is away: $name', async (engine) => {
    const [service, proxy] = await startBehindProxy(engine, { topology });
    await proxy.close();
    await expectAlike(
      service,
      {},
      { http: 503, status: 'UNAVAILABLE', reason: 'STORE_UNAVAILABLE', retryAfter: '1' },
    );
  });

  itOn(engines.slice(1))('that the deadline passed: $name', async (engine) => {
    const [service, proxy] = await startBehindProxy(engine, { topology, settings: { DEADLINE_MS: '200' } });
    proxy.stall();
    await expectAlike(
      service,
      {},
      { http: 504, status: 'DEADLINE_EXCEEDED', reason: 'DEADLINE_EXCEEDED', retryAfter: null },
    );
  });

  itOn(engines)('an unforeseen failure, in fixed words: $name', async (engine) => {
    const newId = (): string => {
      throw new Error('secret');
    };
    const service = await start(engine, { topology, surroundings: { newId } });
    await expectAlike(service, {}, { http: 500, status: 'INTERNAL', reason: 'INTERNAL', retryAfter: null });
    const causes = service.log.filter((line) => JSON.stringify(line).includes('secret'));
    expect(causes.map((line) => line['requestId'])).toEqual(['one-name', 'one-name']);
  });

  it.each(engines.slice(0, 1))('that a request is too large', async (engine) => {
    const service = await start(engine, { topology });
    const change = { handler: 'h'.repeat(65_537) };
    await expectAlike(service, change, {
      http: 413,
      status: 'RESOURCE_EXHAUSTED',
      reason: 'REQUEST_TOO_LARGE',
      retryAfter: null,
    });
  });

  it.each(engines.slice(0, 1))('that the keys cannot be fetched', async (engine) => {
    const settings = { JWT_SECRET: '', JWT_JWKS_URL: `http://127.0.0.1:${await freePort()}/keys` };
    const service = await start(engine, { topology, settings });
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const expected = { http: 503, status: 'UNAVAILABLE', reason: 'KEYS_UNAVAILABLE', retryAfter: '1' };
    await expectAlike(
      service,
      {},
      expected,
      tokenFor({}, { key: privateKey, algorithm: 'ES256', keyid: 'k' }),
    );
  });
});

describe.each(engines.slice(0, 1))('the gateway alone', (engine) => {
  it('reports that the gRPC server is unavailable, and that it is not healthy itself', async () => {
    const settings = { GRPC_UPSTREAM: `127.0.0.1:${await freePort()}` };
    const service = await start(engine, { settings });
    const missed = `${service.httpUrl}/v1/routing/x`;
    const response = await fetch(missed, {
      headers: { authorization: 'Bearer x' },
    });
    await checkResponse({ method: 'GET', url: missed }, response);
    expect(response.status).toBe(503);
    expect(response.headers.get('retry-after')).toBe('1');
    expect(errorInfoOf(await richErrorOfResponse(response)).reason).toBe('UPSTREAM_UNAVAILABLE');
    await expect(fetch(`${service.httpUrl}/healthz`)).resolves.toMatchObject({ status: 503 });
  });

  it('serves no documents when they are turned off', async () => {
    const service = await start(engine, { settings: { DOCS: 'off' } });
    await expect(fetch(`${service.httpUrl}/docs`)).resolves.toMatchObject({ status: 404 });
    await expect(fetch(`${service.httpUrl}/openapi.json`)).resolves.toMatchObject({ status: 404 });
  });
});
