import { AsyncLocalStorage } from 'node:async_hooks';
import { trace, TraceFlags } from '@opentelemetry/api';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import { describe, expect, it } from 'vitest';
import { failureOf, parentOf, serverOf, statementSpans } from '../../../src/observability/tracing/spans.js';
import { storeUnavailable, translate } from '../../../src/store/driver-errors.js';

const TRACE = 'a'.repeat(32);
const SPAN = 'b7ad6b7169203331';
const TRACEPARENT = `00-${TRACE}-${SPAN}-01`;

/** The parent that a client's headers name. */
function parentIn(headers: Readonly<Record<string, string>>): ReturnType<typeof trace.getSpanContext> {
  return trace.getSpanContext(parentOf((key) => headers[key]));
}

describe('the parent of a span', () => {
  it('is the span of the client, with its trace state', () => {
    const parent = parentIn({ traceparent: TRACEPARENT, tracestate: 'vendor=mine' });
    expect(parent).toMatchObject({ traceId: TRACE, spanId: SPAN, traceFlags: 1 });
    expect(parent?.traceState?.serialize()).toBe('vendor=mine');
  });

  it('may come in a later version, with further fields', () => {
    expect(parentIn({ traceparent: `01-${TRACE}-${SPAN}-01-x` })).toMatchObject({ traceId: TRACE });
  });

  it.each([
    ['is malformed', { traceparent: 'x', tracestate: 'vendor=1' }],
    ['has a trace id of zeros', { traceparent: `00-${'0'.repeat(32)}-${SPAN}-01`, tracestate: 'vendor=1' }],
    ['has the invalid version ff', { traceparent: `ff-${TRACE}-${SPAN}-01` }],
    ['is in upper case', { traceparent: `00-${'A'.repeat(32)}-${SPAN}-01` }],
    ['has more fields than its version allows', { traceparent: `${TRACEPARENT}-x` }],
    ['is too long', { traceparent: `01-${TRACE}-${SPAN}-01-${'x'.repeat(4_000)}` }],
    ['is missing', { tracestate: 'vendor=1' }],
  ])('is absent if the traceparent %s', (_, headers) => {
    expect(parentIn(headers)).toBeUndefined();
  });

  it.each([
    [512, 512],
    [513, undefined],
  ])('for a tracestate of %i characters has a state with the length %s', (length, kept) => {
    const tracestate = `a=${'x'.repeat(254)},b=`.padEnd(length, 'y');
    const parent = parentIn({ traceparent: TRACEPARENT, tracestate });
    expect(parent?.traceState?.serialize().length).toBe(kept);
  });
});

const driverError = (facts: object): unknown => translate(Object.assign(new Error('select secret'), facts));

describe('the reason of a failed statement', () => {
  it.each([
    ['a MySQL error number', { errno: 1062, code: 'ER_DUP_ENTRY' }, '1062'],
    [
      'a MySQL error number that makes the store unavailable',
      { errno: 1040, code: 'ER_CON_COUNT_ERROR' },
      '1040',
    ],
    ['a SQLite error code', { code: 'SQLITE_BUSY' }, 'SQLITE_BUSY'],
  ])('is %s', (_, facts, code) => {
    expect(failureOf(driverError(facts))).toEqual({ 'db.response.status_code': code, 'error.type': code });
  });

  it('is only the error type for a failed connection, since the database sent no status code', () => {
    const error = driverError({ errno: -111, code: 'ECONNREFUSED' });
    expect(failureOf(error)).toEqual({ 'error.type': 'ECONNREFUSED' });
  });

  it.each([[new Error('select secret')], [storeUnavailable(new Error('x'))], ['text'], [null]])(
    'is unknown for %s',
    (error) => {
      expect(failureOf(error)).toEqual({ 'error.type': '_OTHER' });
    },
  );
});

describe('the server of the target', () => {
  it.each([
    ['127.0.0.1:50051', '127.0.0.1', 50051],
    ['routes.example:50051', 'routes.example', 50051],
    ['[::1]:50051', '::1', 50051],
    ['dns:routes.example:50051', 'routes.example', 50051],
    ['dns:///routes.example:50051', 'routes.example', 50051],
    ['dns://10.0.0.1/routes.example:50051', 'routes.example', 50051],
  ])('%s is %s with the port %i', (target, address, port) => {
    expect(serverOf(target)).toEqual({ 'server.address': address, 'server.port': port });
  });

  it.each(['unix:/run/routes.sock', 'ipv4:10.0.0.1:50051,10.0.0.2:50051'])(
    '%s, which is not a single host, is the target itself',
    (target) => {
      expect(serverOf(target)).toEqual({ 'server.address': target });
    },
  );
});

it('a statement of several calls is linked to the only recorded one, and is not its child', () => {
  const exporter = new InMemorySpanExporter();
  const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
  const recorded = { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), traceFlags: TraceFlags.SAMPLED };
  const others = [undefined, { ...recorded, spanId: 'c'.repeat(16), traceFlags: TraceFlags.NONE }];
  const observer = statementSpans(provider.getTracer('test'), new AsyncLocalStorage(), { engine: 'sqlite' });
  observer.begin({ operation: 'SELECT', attempt: 1, batchSize: 3, captured: [...others, recorded] })();
  const spans = exporter.getFinishedSpans();
  expect(spans.map(({ name, links, parentSpanContext }) => [name, links, parentSpanContext])).toEqual([
    ['BATCH SELECT routes', [expect.objectContaining({ context: recorded })], undefined],
  ]);
});
