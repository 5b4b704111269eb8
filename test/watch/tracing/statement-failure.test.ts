import { AsyncLocalStorage } from 'node:async_hooks';
import { TraceFlags } from '@opentelemetry/api';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import { describe, expect, it } from 'vitest';
import { storeUnavailable, translate } from '../../../src/store/driver-errors.js';
import { failureOf, statementSpans } from '../../../src/watch/tracing/spans.js';

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
