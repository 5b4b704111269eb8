import { generateKeyPairSync } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { engines } from '../support/engines.js';
import { freePort } from '../support/free-port.js';
import { itOn } from '../support/needs.js';
import { checkResponse } from '../support/openapi.js';
import { DEFINITION, post, requestOf } from '../support/requests.js';
import { errorInfoOf, richErrorOfCall, richErrorOfResponse } from '../support/rich-error.js';
import { runningService } from '../support/running-service.js';
import { create, metadataOf, type Service, tokenFor, TOPOLOGIES } from '../support/service.js';
import { createProxiedDatabase } from '../support/tcp-proxy.js';

/** Creates a route over both protocols, and expects the same failure over both. */
async function expectAlike(
  service: Service,
  change: Partial<typeof DEFINITION>,
  expected: { http: number; status: string; reason: string; retryAfter: string | null },
  token = tokenFor(),
): Promise<void> {
  const definition = { ...DEFINITION, ...change };
  const requestId = { 'x-request-id': 'one-name' };
  const outcome = await create(service.client, requestOf(definition), metadataOf(token, requestId));
  const fromGrpc = richErrorOfCall(outcome);
  const response = await post(service, definition, { authorization: `Bearer ${token}`, ...requestId });
  await checkResponse('POST', response);
  const fromRest = await richErrorOfResponse(response);
  expect(fromRest).toEqual(fromGrpc);
  expect(response.status).toBe(expected.http);
  expect(fromRest.status).toBe(expected.status);
  expect(errorInfoOf(fromRest).reason).toBe(expected.reason);
  expect(response.headers.get('retry-after')).toBe(expected.retryAfter);
}

describe.each(['a port', 'a unix socket'] as const)('over %s', (by) => {
  itOn(engines.slice(1))('both protocols report the same way that $name is unavailable', async (engine) => {
    const { proxy, url } = await createProxiedDatabase(engine, by);
    const service = await runningService({ databaseUrl: url, topology: 'over a channel' });
    await proxy.close();
    await expectAlike(
      service,
      {},
      { http: 503, status: 'UNAVAILABLE', reason: 'STORE_UNAVAILABLE', retryAfter: '1' },
    );
  });
});

describe.each(TOPOLOGIES)('with the gateway %s, both protocols report the same way', (topology) => {
  itOn(engines.slice(1))('that the deadline passed: $name', async (engine) => {
    const { proxy, url } = await createProxiedDatabase(engine);
    const service = await runningService({ databaseUrl: url, topology, settings: { DEADLINE_MS: '200' } });
    proxy.stall();
    await expectAlike(
      service,
      {},
      { http: 504, status: 'DEADLINE_EXCEEDED', reason: 'DEADLINE_EXCEEDED', retryAfter: null },
    );
    await proxy.close();
  });

  it('an unexpected failure, with a fixed message', async () => {
    const newId = (): string => {
      throw new Error('secret');
    };
    const service = await runningService({ topology, dependencies: { newId } });
    await expectAlike(service, {}, { http: 500, status: 'INTERNAL', reason: 'INTERNAL', retryAfter: null });
    const causes = service.log.filter((line) => JSON.stringify(line).includes('secret'));
    expect(causes.map((line) => line['requestId'])).toEqual(['one-name', 'one-name']);
  });

  it('that a request is too large', async () => {
    const service = await runningService({ topology });
    const change = { handler: 'h'.repeat(65_537) };
    await expectAlike(service, change, {
      http: 413,
      status: 'RESOURCE_EXHAUSTED',
      reason: 'REQUEST_TOO_LARGE',
      retryAfter: null,
    });
  });

  it('that the keys cannot be fetched', async () => {
    const settings = { JWT_SECRET: '', JWT_JWKS_URL: `http://127.0.0.1:${await freePort()}/keys` };
    const service = await runningService({ topology, settings });
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

it('a gateway alone reports that the gRPC server is unavailable, and is unhealthy itself', async () => {
  const settings = { GRPC_UPSTREAM: `127.0.0.1:${await freePort()}` };
  const service = await runningService({ settings });
  const headers = { authorization: 'Bearer x' };
  const response = await fetch(`${service.httpUrl}/v1/routing/x`, { headers });
  await checkResponse('GET', response);
  expect(response.status).toBe(503);
  expect(response.headers.get('retry-after')).toBe('1');
  expect(errorInfoOf(await richErrorOfResponse(response)).reason).toBe('UPSTREAM_UNAVAILABLE');
  await expect(fetch(`${service.httpUrl}/healthz`)).resolves.toMatchObject({ status: 503 });
});
