import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { request } from 'node:http';
import { resolve } from 'node:path';
import { Metadata } from '@grpc/grpc-js';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { ReadinessReport } from '../../src/observability/readiness.js';
import { MIGRATIONS } from '../../src/store/migrations.js';
import { KeySetServer } from '../auth/key-set-server.js';
import { createAuthority } from '../support/certificates.js';
import { engines } from '../support/engines.js';
import { freePort } from '../support/free-port.js';
import { healthClient } from '../support/health-client.js';
import { type MetricText, readMetrics, sumOf } from '../support/metric-text.js';
import { MountedFiles } from '../support/mounted-files.js';
import { itOn } from '../support/needs.js';
import { requestOf } from '../support/requests.js';
import { runningService } from '../support/running-service.js';
import { create, get, metadataOf, type Service, tokenFor, TOPOLOGIES } from '../support/service.js';
import { createProxiedDatabase } from '../support/tcp-proxy.js';

/** The metrics that have no samples until something of their kind happens. */
const MAY_LACK_SAMPLES = new Set(['route_registry_statement_failures_total']);
/** The names of prom-client's own metrics, which its documentation lists. */
const OF_PROM_CLIENT = /^(?:nodejs|process)_/;

async function metricsOf({ opsUrls }: Service, process = 0): Promise<MetricText> {
  return readMetrics(await (await fetch(`${opsUrls[process] ?? ''}/metrics`)).text());
}

async function readinessOf({ opsUrls }: Service, process = 0): Promise<ReadinessReport & { http: number }> {
  const response = await fetch(`${opsUrls[process] ?? ''}/readyz`);
  return { http: response.status, ...((await response.json()) as ReadinessReport) };
}

/** Sends valid and invalid requests of many kinds over both protocols. */
async function load({ client, grpcAddress, httpUrl }: Service): Promise<void> {
  const metadata = metadataOf(tokenFor());
  const { route } = await create(client, requestOf(), metadata);
  await get(client, route?.id ?? '', metadata);
  await get(client, route?.id ?? '', metadata);
  await get(client, 'secret-id', metadata);
  await get(client, 'secret-id', metadataOf(undefined));
  const headers = { authorization: `Bearer ${tokenFor()}`, 'content-type': 'application/json' };
  await fetch(`${httpUrl}/v1/routing/${route?.id ?? ''}`, { headers });
  await fetch(`${httpUrl}/v1/routing/secret-id`, { headers });
  await fetch(`${httpUrl}/v1/routing/secret-id`);
  await fetch(`${httpUrl}/secret-path`, { method: 'SECRET' });
  await fetch(`${httpUrl}/v1/routing/secret-id`, { method: 'DELETE' });
  await fetch(`${httpUrl}/docs/`);
  const unknown = (done: (error: unknown) => void): unknown =>
    client.makeUnaryRequest('/secret.Service/Secret', same, same, Buffer.alloc(0), done);
  await new Promise((done) => unknown(done));
  const health = healthClient(grpcAddress);
  const watch = health.watch({ service: '' }).on('error', () => undefined);
  await once(watch, 'data');
  watch.cancel();
  await new Promise((done) => health.check({ service: '' }, new Metadata(), done));
}

function same(bytes: Buffer): Buffer {
  return bytes;
}

/** A service with keys from a URL and with TLS, once its keys are there. */
async function securedService(): Promise<Service> {
  const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const issuer = await KeySetServer.start(publicKey.export({ format: 'jwk' }));
  onTestFinished(() => issuer.stop());
  const files = new MountedFiles({ ...createAuthority().issue() });
  const tls = { TLS_CERT_FILE: files.path('cert'), TLS_KEY_FILE: files.path('key') };
  const service = await runningService({ settings: { JWT_SECRET: '', JWT_JWKS_URL: issuer.url, ...tls } });
  await expect.poll(() => readinessOf(service)).toMatchObject({ status: 'ready' });
  return service;
}

/** The types and the sorted labels of the metrics in docs/metrics.md, by name. */
function documentedMetrics(): Map<string, { readonly type: string; readonly labels: readonly string[] }> {
  const document = readFileSync(resolve('docs/metrics.md'), 'utf8');
  const rows = document.matchAll(/^\| `([a-z0-9_]+)` \| (counter|gauge|histogram) \| (.*?) \| /gm);
  return new Map(
    Array.from(rows, ([, name = '', type = '', cell = '']) => {
      const labels = cell === 'none' ? [] : cell.replaceAll('`', '').split(', ').sort();
      return [name, { type, labels }];
    }),
  );
}

describe('the metrics of a service', () => {
  it('are those of docs/metrics.md, with their types and labels, and those of prom-client', async () => {
    // A separate gateway has a metric of its own.
    const service = await runningService({ topology: 'over a channel' });
    await load(service);
    // And so has one with keys from a URL, or with TLS.
    const secured = await securedService();
    const pages = [...service.opsUrls, ...secured.opsUrls].map(async (url) =>
      (await fetch(`${url}/metrics`)).text(),
    );
    const { types, labels } = readMetrics((await Promise.all(pages)).join(''));
    const documented = documentedMetrics();

    const undocumented = [...types.keys()].filter((name) => !documented.has(name));
    expect(undocumented.filter((name) => !OF_PROM_CLIENT.test(name))).toEqual([]);

    const served = Array.from(documented.keys(), (name) => [name, types.get(name)] as const);
    expect(served).toEqual(Array.from(documented, ([name, { type }]) => [name, type]));

    // A metric shows its labels only with a sample.
    const sampled = [...documented].filter(([name]) => !MAY_LACK_SAMPLES.has(name));
    expect(sampled.map(([name]) => [name, labels.get(name)])).toEqual(
      sampled.map(([name, metric]) => [name, metric.labels]),
    );
  });

  it.each(TOPOLOGIES)('count each request once, over either protocol, gateway %s', async (topology) => {
    const service = await runningService({ topology });
    await load(service);
    const grpc = await metricsOf(service);
    const rest = await metricsOf(service, service.opsUrls.length - 1);
    const handled = (labels: Record<string, string>): number =>
      sumOf(grpc, 'grpc_server_handled_total', labels);
    const overChannel = topology === 'in process' ? 0 : 1;
    expect(handled({ grpc_method: 'CreateRoute', grpc_code: 'OK' })).toBe(1);
    expect(handled({ grpc_method: 'GetRoute', grpc_code: 'OK' })).toBe(2 + overChannel);
    expect(handled({ grpc_method: 'GetRoute', grpc_code: 'NotFound' })).toBe(1 + overChannel);
    expect(handled({ grpc_method: 'GetRoute', grpc_code: 'Unauthenticated' })).toBe(1 + overChannel);
    expect(handled({ grpc_method: 'unknown', grpc_code: 'Unimplemented' })).toBe(1);
    await expect
      .poll(async () =>
        sumOf(await metricsOf(service), 'grpc_server_handled_total', {
          grpc_method: 'Watch',
          grpc_code: 'Canceled',
        }),
      )
      .toBe(1);
    const refused = { protocol: 'rest', reason: 'TOKEN_MISSING' };
    expect(sumOf(rest, 'route_registry_refusals_total', refused)).toBe(1);
    const requests = (labels: Record<string, string>): number =>
      sumOf(rest, 'http_server_request_duration_seconds_count', labels);
    const route = { http_route: '/v1/routing/{route_id}' };
    expect(requests({ ...route, http_request_method: 'GET', http_response_status_code: '200' })).toBe(1);
    expect(requests({ ...route, http_request_method: 'DELETE', http_response_status_code: '405' })).toBe(1);
    expect(requests({ http_route: 'unknown', http_request_method: 'other' })).toBe(1);
    expect(requests({})).toBe(6);
    for (const { values } of [grpc, rest]) {
      expect([...values.keys()].filter((name) => /secret/i.test(name))).toEqual([]);
    }
  });

  it.each([
    ['in process', ['all']],
    ['over a channel', ['grpc', 'gateway']],
  ] as const)('name the version and the role of each process, gateway %s', async (topology, roles) => {
    const service = await runningService({ topology });
    const pages = await Promise.all(roles.map((_, process) => metricsOf(service, process)));
    const infos = pages.map(({ values }) => [...values.keys()].filter((name) => name.includes('build_info')));
    expect(infos).toEqual(
      roles.map((role) => [`route_registry_build_info{version="0.2.0-dev",role="${role}"}`]),
    );
  });

  it('show caches, statements and the schema', async () => {
    const service = await runningService();
    await load(service);
    const text = await metricsOf(service);
    const value = (name: string, labels: Record<string, string> = {}): number => sumOf(text, name, labels);
    expect(value('route_registry_cache_entries', { cache: 'routes' })).toBe(1);
    expect(value('route_registry_cache_hits_total', { cache: 'routes' })).toBe(2);
    expect(value('route_registry_cache_hits_total', { cache: 'tokens' })).toBeGreaterThan(2);
    expect(value('route_registry_statement_batch_size_count', { operation: 'INSERT' })).toBe(1);
    expect(value('route_registry_schema_version')).toBe(MIGRATIONS.length);
    expect(value('route_registry_database_connections')).toBe(1);
    expect(value('route_registry_ready')).toBe(1);
    expect(value('route_registry_draining')).toBe(0);
  });

  it.each([
    { topology: 'over a channel', settings: {}, kept: { hits_total: 2, misses_total: 1, entries: 1 } },
    { topology: 'in process', settings: { ROUTE_CACHE_MIB: '0' }, kept: { hits_total: 0, entries: 0 } },
  ] as const)(
    'show $kept of replies that the gateway keeps, $topology with $settings',
    async ({ topology, settings, kept }) => {
      const service = await runningService({ topology, settings });
      const { route } = await create(service.client, requestOf(), metadataOf(tokenFor()));
      const headers = { authorization: `Bearer ${tokenFor()}` };
      const url = `${service.httpUrl}/v1/routing/${route?.id ?? ''}`;
      for (let sent = 0; sent < 3; sent++) expect((await fetch(url, { headers })).status).toBe(200);
      const text = await metricsOf(service, service.opsUrls.length - 1);
      for (const [figure, value] of Object.entries(kept))
        expect(sumOf(text, `route_registry_cache_${figure}`, { cache: 'replies' }), figure).toBe(value);
    },
  );

  it('are not served if OPS_ADDRESS is off', async () => {
    const { opsUrls } = await runningService({ settings: { OPS_ADDRESS: 'off' } });
    expect(opsUrls).toEqual(['']);
  });
});

describe('the readiness of a service', () => {
  it('depends on its database and its schema, as docs/metrics.md shows', async () => {
    const readiness = {
      status: 'ready',
      checks: {
        process: { ok: true, state: 'running' },
        database: { ok: true, state: 'up' },
        schema: { ok: true, state: `version ${MIGRATIONS.length}` },
      },
    };
    await expect(readinessOf(await runningService())).resolves.toEqual({ http: 200, ...readiness });
    expect(readFileSync(resolve('docs/metrics.md'), 'utf8')).toContain(`\n${JSON.stringify(readiness)}\n`);
  });

  it('is draining at once when the service stops, and is reported until the end', async () => {
    const service = await runningService();
    // Keeps the service from closing until its body has arrived.
    const upload = request(`${service.httpUrl}/v1/routing`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${tokenFor()}`,
        'content-type': 'application/json',
        expect: '100-continue',
      },
    });
    upload.flushHeaders();
    await once(upload, 'continue');
    const closed = service.close();
    await expect(readinessOf(service)).resolves.toMatchObject({
      http: 503,
      status: 'draining',
      checks: { process: { state: 'draining' }, database: { ok: true } },
    });
    expect(sumOf(await metricsOf(service), 'route_registry_draining')).toBe(1);
    upload.on('response', (response) => response.resume()).end('{}');
    await closed;
    await expect(readinessOf(service)).rejects.toThrow('fetch failed');
  });

  it('depends on the upstream for a separate gateway, even without requests', async () => {
    const upstream = await runningService({ topology: 'over a channel' });
    await expect
      .poll(() => readinessOf(upstream, 1))
      .toEqual({
        http: 200,
        status: 'ready',
        checks: { process: { ok: true, state: 'running' }, upstream: { ok: true, state: 'up' } },
      });
    const alone = await runningService({ settings: { GRPC_UPSTREAM: `127.0.0.1:${await freePort()}` } });
    await expect
      .poll(() => readinessOf(alone))
      .toMatchObject({
        http: 503,
        status: 'not ready',
        checks: { upstream: { ok: false, state: 'down' } },
      });
  });
});

itOn(engines.slice(1, 2))(
  'while $name is frozen, readiness responds at once, and turns to down at the second failed check',
  async (engine) => {
    const { proxy, url } = await createProxiedDatabase(engine);
    const service = await runningService({
      databaseUrl: url,
      settings: { DEADLINE_MS: '30000' },
      dependencies: { checkMs: 200, checkLimitMs: 500 },
    });
    await expect.poll(() => readinessOf(service)).toMatchObject({ http: 200 });
    proxy.stall();
    let answered = false;
    void create(service.client, requestOf(), metadataOf(tokenFor())).then(() => (answered = true));
    const states = new Set<string>();
    await expect
      .poll(
        async () => {
          const { http, checks } = await readinessOf(service);
          states.add(`${http} ${checks['database']?.state ?? ''}`);
          return http;
        },
        { interval: 10 },
      )
      .toBe(503);
    expect([...states]).toEqual(['200 up', '503 down']);
    await expect(fetch(`${service.opsUrls[0] ?? ''}/livez`)).resolves.toMatchObject({ status: 200 });
    expect(answered).toBe(false);
    await proxy.close();
  },
);
