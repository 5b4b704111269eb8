import { Metadata, status } from '@grpc/grpc-js';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { CallContext, Reply } from '../../../src/calls/call.js';
import { Metrics } from '../../../src/observability/metrics/metrics.js';
import { type MetricText, readMetrics, sumOf } from '../../support/metric-text.js';

const GET = '/routing.v1.RouteService/GetRoute';
const WATCH = '/grpc.health.v1.Health/Watch';
const OF_GET = { grpc_type: 'unary', grpc_service: 'routing.v1.RouteService', grpc_method: 'GetRoute' };
const OF_WATCH = { grpc_type: 'server_stream', grpc_service: 'grpc.health.v1.Health', grpc_method: 'Watch' };

function measuredCalls() {
  const metrics = new Metrics();
  const calls = metrics.measureCalls({ unary: [GET], server_stream: [WATCH], bidi_stream: [] });
  const read = async (): Promise<MetricText> => readMetrics(await metrics.text());
  return { calls, read };
}

function contextOf(path: string, reason?: CallContext['reason']): CallContext {
  return { call: { path }, reason } as CallContext;
}

function replyOf(code: status): Reply {
  return { code, details: '', trailers: new Metadata() };
}

describe('a gRPC call', () => {
  it('is counted when it starts and, with its code and duration, when it ends', async () => {
    const { calls, read } = measuredCalls();
    const clock = vi.spyOn(performance, 'now').mockReturnValue(1_000);
    onTestFinished(() => void vi.restoreAllMocks());
    let answer: (reply: Reply) => void = () => undefined;
    const reply = calls.interceptor(contextOf(GET), () => new Promise((resolve) => (answer = resolve)));
    const before = await read();
    expect(sumOf(before, 'grpc_server_started_total', OF_GET)).toBe(1);
    expect(sumOf(before, 'grpc_server_active_calls', OF_GET)).toBe(1);
    expect(sumOf(before, 'grpc_server_handled_total', OF_GET)).toBe(0);
    clock.mockReturnValue(2_500);
    answer(replyOf(status.OK));
    await reply;
    const after = await read();
    expect(sumOf(after, 'grpc_server_active_calls')).toBe(0);
    expect(sumOf(after, 'grpc_server_handled_total')).toBe(1);
    expect(sumOf(after, 'grpc_server_handled_total', { ...OF_GET, grpc_code: 'OK' })).toBe(1);
    expect(sumOf(after, 'grpc_server_handling_seconds_count', OF_GET)).toBe(1);
    expect(sumOf(after, 'grpc_server_handling_seconds_sum', OF_GET)).toBe(1.5);
  });

  it('that is refused at once is counted, with the reason of its refusal', async () => {
    const { calls, read } = measuredCalls();
    void calls.interceptor(contextOf(GET, 'ROUTE_NOT_FOUND'), () => replyOf(status.NOT_FOUND));
    const text = await read();
    expect(sumOf(text, 'grpc_server_handled_total', { ...OF_GET, grpc_code: 'NotFound' })).toBe(1);
    expect(sumOf(text, 'route_registry_refusals_total')).toBe(1);
    const refused = { protocol: 'grpc', reason: 'ROUTE_NOT_FOUND' };
    expect(sumOf(text, 'route_registry_refusals_total', refused)).toBe(1);
  });

  it('that only asks the guard is counted as admitted, not as refused, if the guard admits it', async () => {
    const { calls, read } = measuredCalls();
    await calls.interceptor(contextOf(GET, 'GUARD_PASSED'), () => Promise.resolve(replyOf(status.ABORTED)));
    const admitted = await read();
    expect(sumOf(admitted, 'grpc_server_handled_total')).toBe(1);
    expect(sumOf(admitted, 'grpc_server_handled_total', { ...OF_GET, grpc_code: 'Aborted' })).toBe(1);
    expect(sumOf(admitted, 'route_registry_guard_passed_total')).toBe(1);
    expect(sumOf(admitted, 'route_registry_refusals_total')).toBe(0);
    void calls.interceptor(contextOf(GET, 'TOKEN_MISSING'), () => replyOf(status.UNAUTHENTICATED));
    const refused = await read();
    expect(sumOf(refused, 'route_registry_guard_passed_total')).toBe(1);
    expect(sumOf(refused, 'route_registry_refusals_total', { reason: 'TOKEN_MISSING' })).toBe(1);
  });

  it('of an unknown method gets no label of its own', async () => {
    const { calls, read } = measuredCalls();
    const secret = contextOf('/secret/path', 'PATH_UNKNOWN');
    void calls.interceptor(secret, () => replyOf(status.UNIMPLEMENTED));
    const text = await read();
    expect([...text.values.keys()].join()).not.toContain('secret');
    const unknown = { grpc_type: 'unknown', grpc_service: 'unknown', grpc_method: 'unknown' };
    expect(sumOf(text, 'grpc_server_handled_total', { ...unknown, grpc_code: 'Unimplemented' })).toBe(1);
  });

  it('that streams is counted, and counted as refused only if the service refused it', async () => {
    const { calls, read } = measuredCalls();
    calls.beginStreaming(WATCH)(status.CANCELLED);
    calls.beginStreaming(WATCH)(status.RESOURCE_EXHAUSTED, 'OVERLOADED');
    calls.beginStreaming(WATCH);
    const text = await read();
    expect(sumOf(text, 'grpc_server_started_total', OF_WATCH)).toBe(3);
    expect(sumOf(text, 'grpc_server_active_calls', OF_WATCH)).toBe(1);
    expect(sumOf(text, 'grpc_server_handled_total', { ...OF_WATCH, grpc_code: 'Canceled' })).toBe(1);
    expect(sumOf(text, 'route_registry_refusals_total')).toBe(1);
    expect(sumOf(text, 'route_registry_refusals_total', { reason: 'OVERLOADED' })).toBe(1);
  });

  it('of each method has samples from the start, at zero for every code and reason', async () => {
    const { values } = await measuredCalls().read();
    expect(
      [...values].filter(
        ([name]) => name.startsWith('grpc_server_handled_total') && name.includes('GetRoute'),
      ),
    ).toHaveLength(17);
    const labels = 'grpc_type="unary",grpc_service="routing.v1.RouteService",grpc_method="GetRoute"';
    for (const sample of [
      `grpc_server_started_total{${labels}}`,
      `grpc_server_active_calls{${labels}}`,
      `grpc_server_handling_seconds_bucket{le="5",${labels}}`,
      'grpc_server_active_calls{grpc_type="unknown",grpc_service="unknown",grpc_method="unknown"}',
      'route_registry_refusals_total{protocol="grpc",reason="OVERLOADED"}',
      'route_registry_refusals_total{protocol="grpc",reason="other"}',
    ])
      expect([sample, values.get(sample)]).toEqual([sample, 0]);
    // The bounds that queries of dashboards and alerts may name.
    const bounds = [...values.keys()].filter(
      (name) => name.includes('_seconds_bucket{le=') && name.includes(labels),
    );
    expect(bounds.map((name) => /le="(.*?)"/.exec(name)?.[1]).join(' ')).toBe(
      '0.0005 0.001 0.002 0.005 0.01 0.02 0.05 0.1 0.2 0.5 1 2 5 +Inf',
    );
  });
});

const DURATION = 'http_server_request_duration_seconds_count';

function measuredRequests() {
  const metrics = new Metrics();
  const read = async (): Promise<MetricText> => readMetrics(await metrics.text());
  return { requests: metrics.measureRequests(), read };
}

describe('a REST request', () => {
  it('is active until it ends, and is counted by its path template', async () => {
    const { requests, read } = measuredRequests();
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
    const { requests, read } = measuredRequests();
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
      const { requests, read } = measuredRequests();
      requests.begin({ method: 'GET' }).end({ template: '/a', status, reason, requestId: 'r' });
      const text = await read();
      expect(sumOf(text, 'route_registry_refusals_total')).toBe(1);
      expect(sumOf(text, 'route_registry_refusals_total', { protocol: 'rest', reason: counted })).toBe(1);
    },
  );

  it('whose client disconnects first has the status 499', async () => {
    const { requests, read } = measuredRequests();
    const gone = { template: '/a', status: undefined, reason: undefined, requestId: 'r' };
    requests.begin({ method: 'GET' }).end(gone);
    expect(sumOf(await read(), DURATION, { http_response_status_code: '499' })).toBe(1);
  });
});
