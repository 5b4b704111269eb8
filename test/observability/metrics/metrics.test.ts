import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { Metrics } from '../../../src/observability/metrics/metrics.js';
import { Readiness } from '../../../src/observability/readiness.js';
import { DatabaseError, storeUnavailable } from '../../../src/store/driver-errors.js';
import { readMetrics, sumOf } from '../../support/metric-text.js';

describe('statements', () => {
  it('are measured by their batch size and duration, and retries are counted', async () => {
    const metrics = new Metrics();
    const statements = metrics.measureStatements();
    const sent = { operation: 'INSERT', attempt: 1, captured: [] } as const;
    statements.begin({ ...sent, batchSize: 3 })();
    statements.begin({ ...sent, batchSize: 3, attempt: 2 })();
    statements.begin({ ...sent, operation: 'SELECT', batchSize: 64 });
    const text = readMetrics(await metrics.text());
    expect(sumOf(text, 'route_registry_statement_batch_size_sum', { operation: 'INSERT' })).toBe(6);
    expect(sumOf(text, 'route_registry_statement_batch_size_sum', { operation: 'SELECT' })).toBe(64);
    expect(sumOf(text, 'route_registry_statement_duration_seconds_count')).toBe(2);
    expect(sumOf(text, 'route_registry_statement_retries_total', { operation: 'INSERT' })).toBe(1);
    expect(sumOf(text, 'route_registry_statement_retries_total', { operation: 'SELECT' })).toBe(0);
  });
});

describe('failed statements', () => {
  it('are counted by operation and error code', async () => {
    const metrics = new Metrics();
    const statements = metrics.measureStatements();
    const sent = { operation: 'SELECT', attempt: 1, batchSize: 1, captured: [] } as const;
    const fail = (error: unknown): void => {
      statements.begin(sent)(error);
    };
    fail(storeUnavailable(new DatabaseError({ code: 'ECONNRESET', errno: -104 })));
    fail(new DatabaseError({ code: 'ECONNRESET', errno: -104 }));
    fail(new DatabaseError({ code: undefined, errno: 4025 }));
    fail(new DatabaseError({ code: undefined, errno: undefined }));
    fail(undefined);
    const { values } = readMetrics(await metrics.text());
    const counted = [...values].filter(([sample]) => sample.startsWith('route_registry_statement_failures'));
    expect(Object.fromEntries(counted)).toEqual({
      'route_registry_statement_failures_total{operation="SELECT",code="ECONNRESET"}': 2,
      'route_registry_statement_failures_total{operation="SELECT",code="4025"}': 1,
      'route_registry_statement_failures_total{operation="SELECT",code="none"}': 1,
    });
  });
});

it('readiness is exported with each of its checks, as 1 only while all pass and the process does not drain', async () => {
  const metrics = new Metrics();
  const readiness = new Readiness(['database', 'schema']);
  metrics.addReadiness(readiness);
  readiness.run();
  readiness.pass('schema', 'version 2');
  const database = { well: false };
  readiness.watch('database', database);
  const shown = async (): Promise<number[]> => {
    const text = readMetrics(await metrics.text());
    const checks = ['process', 'database', 'schema'].map((check) =>
      sumOf(text, 'route_registry_check_ok', { check }),
    );
    return [sumOf(text, 'route_registry_ready'), ...checks];
  };
  expect(await shown()).toEqual([0, 1, 0, 1]);
  database.well = true;
  expect(await shown()).toEqual([1, 1, 1, 1]);
  readiness.drain();
  expect(await shown()).toEqual([0, 0, 1, 1]);
});

it('the age of the key set is in seconds', async () => {
  const metrics = new Metrics();
  metrics.addKeySet(() => 90_500);
  expect(sumOf(readMetrics(await metrics.text()), 'route_registry_jwks_age_seconds')).toBe(90.5);
});

describe('the served certificate', () => {
  it('is exported with the time in which it is valid, in Unix time', async () => {
    const metrics = new Metrics();
    const validity = { validFrom: 'Jan  1 00:00:00 2030 GMT', validTo: 'Jan  2 00:00:00 2030 GMT' };
    metrics.addCertificate(() => validity);
    const text = readMetrics(await metrics.text());
    const bounds = ['not_before', 'not_after'].map((bound) =>
      sumOf(text, `route_registry_tls_certificate_${bound}_timestamp_seconds`),
    );
    expect(bounds).toEqual([1_893_456_000, 1_893_542_400]);
  });
});

describe('the figures of caches and the connection pool', () => {
  it('are read at each scrape', async () => {
    const metrics = new Metrics();
    let entries = 1;
    metrics.addCaches({ replies: () => ({ hits: 1, misses: 0, entries: 1, bytes: 700 }) });
    metrics.addCaches({
      routes: () => ({ hits: 2, misses: 3, entries, bytes: 400 }),
      tokens: () => ({ hits: 5, misses: 6, entries: 7 }),
    });
    metrics.addPool(() => ({ used: 8, free: 9, waiting: 10 }));
    await metrics.text();
    entries = 2;
    const text = readMetrics(await metrics.text());
    const value = (name: string, labels: Record<string, string> = {}): number => sumOf(text, name, labels);
    expect(value('route_registry_cache_hits_total', { cache: 'routes' })).toBe(2);
    expect(value('route_registry_cache_misses_total', { cache: 'tokens' })).toBe(6);
    expect(value('route_registry_cache_entries', { cache: 'routes' })).toBe(2);
    expect(value('route_registry_cache_bytes', { cache: 'routes' })).toBe(400);
    expect(value('route_registry_cache_bytes', { cache: 'replies' })).toBe(700);
    expect(text.values.has('route_registry_cache_bytes{cache="tokens"}')).toBe(false);
    expect(value('route_registry_database_connections', { state: 'used' })).toBe(8);
    expect(value('route_registry_database_connections', { state: 'free' })).toBe(9);
    expect(value('route_registry_database_connection_waiters')).toBe(10);
  });

  it('may start over, as those of a cache do with new keys', async () => {
    const metrics = new Metrics();
    let hits = 5;
    metrics.addCaches({ tokens: () => ({ hits, misses: 0, entries: 0 }) });
    await metrics.text();
    hits = 1;
    expect(sumOf(readMetrics(await metrics.text()), 'route_registry_cache_hits_total')).toBe(1);
  });
});

it('two services in one process count separately and share the metrics of the process', async () => {
  const [first, second] = [new Metrics(), new Metrics()];
  first.addSchemaVersion(1);
  second.addSchemaVersion(2);
  const [ofFirst, ofSecond] = [readMetrics(await first.text()), readMetrics(await second.text())];
  expect(sumOf(ofFirst, 'route_registry_schema_version')).toBe(1);
  expect(sumOf(ofSecond, 'route_registry_schema_version')).toBe(2);
  expect(sumOf(ofSecond, 'process_start_time_seconds')).toBe(sumOf(ofFirst, 'process_start_time_seconds'));
});

it.each(['grpc', 'rest'])(
  'over %s, the refusals for every reason in docs/errors.md start at zero',
  async (protocol) => {
    const document = readFileSync(resolve(import.meta.dirname, '../../../docs/errors.md'), 'utf8');
    const rows = [...document.matchAll(/^\| `(\w+)` \| (\w+) \| (\w+) \|/gm)];
    const reasons = rows
      .filter((row) => row[protocol === 'grpc' ? 2 : 3] !== 'none')
      .map(([, reason]) => reason);
    const metrics = new Metrics();
    metrics.measureCalls({ unary: [], server_stream: [], bidi_stream: [] });
    metrics.measureRequests();
    const { values } = readMetrics(await metrics.text());
    const uncounted = reasons.filter(
      (reason) =>
        values.get(`route_registry_refusals_total{protocol="${protocol}",reason="${reason}"}`) !== 0,
    );
    expect(reasons.length).toBeGreaterThan(15);
    expect(uncounted).toEqual([]);
  },
);
