import { once } from 'node:events';
import { generateKeyPairSync } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { describe, expect, it, onTestFinished } from 'vitest';
import { KeySetServer } from '../auth/key-set-server.js';
import { watchHealth } from '../support/health-client.js';
import { readMetrics, sumOf } from '../support/metric-text.js';
import { healthOf, requestOf } from '../support/requests.js';
import { errorInfoOf, richErrorOfResponse } from '../support/rich-error.js';
import { runningService } from '../support/running-service.js';
import { create, metadataOf, type Service, tokenFor, TOPOLOGIES } from '../support/service.js';

const { privateKey: key, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const JWK = { ...publicKey.export({ format: 'jwk' }), kid: 'main' };
const GOOD = tokenFor({}, { key, algorithm: 'ES256', keyid: 'main' });

/** An issuer, until the end of the test. */
async function issuerOfTest(): Promise<KeySetServer> {
  const issuer = await KeySetServer.start(JWK);
  onTestFinished(() => issuer.stop());
  return issuer;
}

async function readinessOf({ opsUrls }: Service): Promise<{ http: number; keys: unknown }> {
  const response = await fetch(`${opsUrls[0] ?? ''}/readyz`);
  const { checks } = (await response.json()) as { checks: Record<string, unknown> };
  return { http: response.status, keys: checks['keys'] };
}

async function ageOfKeys({ opsUrls }: Service): Promise<number | undefined> {
  const text = readMetrics(await (await fetch(`${opsUrls[0] ?? ''}/metrics`)).text());
  return text.values.has('route_registry_jwks_age_seconds')
    ? sumOf(text, 'route_registry_jwks_age_seconds')
    : undefined;
}

describe.each(TOPOLOGIES)('with the gateway %s, a service without its first key set', (topology) => {
  it('is alive but not ready, on any page, and is ready within seconds of the return of its issuer', async () => {
    const issuer = await issuerOfTest();
    const { url } = issuer;
    issuer.answer(({ socket }) => void socket.destroy());
    const service = await runningService({ topology, settings: { JWT_SECRET: '', JWT_JWKS_URL: url } });
    const statuses = watchHealth(service.grpcAddress);
    expect(await readinessOf(service)).toEqual({ http: 503, keys: { ok: false, state: 'starting' } });
    expect((await fetch(`${service.opsUrls[0] ?? ''}/livez`)).status).toBe(200);
    expect(await healthOf(service)).toBe(503);
    expect(await ageOfKeys(service)).toBeUndefined();
    const refused = await create(service.client, requestOf(), metadataOf(GOOD));
    expect(errorInfoOf(await richErrorOf(service))).toMatchObject({ reason: 'KEYS_UNAVAILABLE' });
    expect(refused.route).toBeUndefined();

    issuer.publish(JWK);
    await expect
      .poll(() => readinessOf(service), { timeout: 5_000 })
      .toEqual({
        http: 200,
        keys: { ok: true, state: 'fetched' },
      });
    await expect.poll(() => statuses).toEqual(['NOT_SERVING', 'SERVING']);
    expect(await healthOf(service)).toBe(200);
    expect(await ageOfKeys(service)).toBeLessThan(60);
    expect((await create(service.client, requestOf(), metadataOf(GOOD))).error).toBeUndefined();
  });
});

/** The error of a get over REST. */
async function richErrorOf({ httpUrl }: Service) {
  const headers = { authorization: `Bearer ${GOOD}` };
  return richErrorOfResponse(await fetch(`${httpUrl}/v1/routing/x`, { headers }));
}

it('a service stays ready when its issuer fails later', async () => {
  const issuer = await issuerOfTest();
  let nowMs = 0;
  const settings = { JWT_SECRET: '', JWT_JWKS_URL: issuer.url };
  const service = await runningService({ settings, dependencies: { monotonic: () => nowMs } });
  await expect.poll(() => readinessOf(service)).toMatchObject({ http: 200 });
  await issuer.stop();
  nowMs += 3_600_000;
  const { error } = await create(service.client, requestOf(), metadataOf(GOOD));
  expect(error?.details).toBe('The keys that verify tokens are unavailable. Try again.');
  expect(await readinessOf(service)).toMatchObject({ http: 200 });
  expect(await healthOf(service)).toBe(200);
  expect(await ageOfKeys(service)).toBeGreaterThanOrEqual(3_600);
});

it('a service that stops before its first key set reports that it drains', async () => {
  const issuer = await issuerOfTest();
  const arrived = new Promise<ServerResponse>((resolve) => {
    issuer.answer((_, response) => {
      resolve(response);
    });
  });
  const settings = { JWT_SECRET: '', JWT_JWKS_URL: issuer.url, DRAIN_DELAY_MS: '500' };
  const service = await runningService({ settings });
  const statuses = watchHealth(service.grpcAddress);
  await expect.poll(() => statuses).toEqual(['NOT_SERVING']);
  const response = await arrived;
  const closed = service.close();
  response.end(JSON.stringify({ keys: [JWK] }));
  await once(response, 'close');
  await expect.poll(() => readinessOf(service)).toMatchObject({ keys: { ok: true } });
  expect(await healthOf(service)).toBe(503);
  await closed;
  expect(statuses).toEqual(['NOT_SERVING']);
});
