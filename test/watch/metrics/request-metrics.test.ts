import { describe, expect, it } from 'vitest';
import { Metrics } from '../../../src/watch/metrics/metrics.js';
import { type MetricText, readMetrics, sumOf } from '../../support/metric-text.js';

const DURATION = 'http_server_request_duration_seconds_count';

function measured() {
  const metrics = new Metrics();
  const read = async (): Promise<MetricText> => readMetrics(await metrics.text());
  return { requests: metrics.requests(), read };
}

describe('a REST request', () => {
  it('is active until it ends, and is counted by its path template', async () => {
    const { requests, read } = measured();
    const request = requests.begin({ method: 'GET' });
    expect(sumOf(await read(), 'http_server_active_requests')).toBe(1);
    request.end({ template: '/v1/routing/{route_id}', status: 200, reason: undefined, requestId: 'r' });
    const text = await read();
    expect(sumOf(text, 'http_server_active_requests')).toBe(0);
    const labels = {
      http_request_method: 'GET',
      http_route: '/v1/routing/{route_id}',
      http_response_status_code: '200',
    };
    expect(sumOf(text, DURATION, labels)).toBe(1);
    expect(sumOf(text, 'route_registry_refusals_total')).toBe(0);
  });

  it.each([
    {
      why: 'an unknown method',
      method: 'SECRET',
      template: '/a',
      labels: { http_request_method: 'other', http_route: '/a' },
    },
    {
      why: 'an unknown path',
      method: 'GET',
      template: undefined,
      labels: { http_request_method: 'GET', http_route: 'unknown' },
    },
    {
      why: 'bytes that are not HTTP',
      method: '',
      template: undefined,
      labels: { http_request_method: 'other', http_route: 'unknown' },
    },
  ])('with $why cannot choose a label', async ({ method, template, labels }) => {
    const { requests, read } = measured();
    requests.begin({ method }).end({ template, status: 404, reason: 'PATH_UNKNOWN', requestId: 'r' });
    const text = await read();
    expect(sumOf(text, DURATION)).toBe(1);
    expect(sumOf(text, DURATION, labels)).toBe(1);
  });

  it.each([
    { reason: 'OVERLOADED', status: 429, counted: 'OVERLOADED' },
    { reason: 'UPSTREAM_UNAVAILABLE', status: 503, counted: 'UPSTREAM_UNAVAILABLE' },
    { reason: 'of_another_version', status: 400, counted: 'other' },
    { reason: undefined, status: undefined, counted: 'CANCELLED' },
  ])(
    'that ends with the status $status and the reason $reason is counted as refused for $counted',
    async ({ reason, status, counted }) => {
      const { requests, read } = measured();
      requests.begin({ method: 'GET' }).end({ template: '/a', status, reason, requestId: 'r' });
      const text = await read();
      expect(sumOf(text, 'route_registry_refusals_total')).toBe(1);
      expect(sumOf(text, 'route_registry_refusals_total', { protocol: 'rest', reason: counted })).toBe(1);
    },
  );

  it('whose client disconnects first has the status 499', async () => {
    const { requests, read } = measured();
    const gone = { template: '/a', status: undefined, reason: undefined, requestId: 'r' };
    requests.begin({ method: 'GET' }).end(gone);
    expect(sumOf(await read(), DURATION, { http_response_status_code: '499' })).toBe(1);
  });
});
