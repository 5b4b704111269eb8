import { describe, expect, it } from 'vitest';
import {
  callMetadata,
  FORWARDED_HEADERS,
  type ForwardedHeaders,
  requestTimeoutMs,
  requireFitHeaders,
} from '../../src/http/request-headers.js';
import { refusal, wrongFields } from '../support/refusal.js';

const forwarded: ForwardedHeaders = new Map([...FORWARDED_HEADERS, ['idempotency-key', 'refuse']]);

describe('the metadata of a call', () => {
  it.each<{ headers: Record<string, string[]>; metadata: Record<string, string>; why: string }>([
    { headers: {}, metadata: {}, why: 'the request id is always there' },
    {
      headers: { authorization: ['Bearer a'] },
      metadata: { authorization: 'Bearer a' },
      why: 'the token passes',
    },
    {
      headers: { authorization: ['Bearer a', 'Bearer b'] },
      metadata: { authorization: 'Bearer a, Bearer b' },
      why: 'two tokens are none',
    },
    {
      headers: { authorization: ['Bearer \u00e9\t'] },
      metadata: { authorization: 'Bearer ??' },
      why: 'a hostile token stays a wrong one',
    },
    { headers: { authorization: [''] }, metadata: { authorization: '' }, why: 'an empty header is one' },
    {
      headers: { traceparent: ['00-a-b-01'], tracestate: ['x=1', 'y=2'] },
      metadata: { traceparent: '00-a-b-01', tracestate: 'x=1, y=2' },
      why: 'trace context passes',
    },
    { headers: { traceparent: ['\u00ff'] }, metadata: {}, why: 'a broken trace context is left out' },
    {
      headers: { 'idempotency-key': ['k 1'] },
      metadata: { 'idempotency-key': 'k 1' },
      why: 'the server judges the key',
    },
    { headers: { 'idempotency-key': ['\u00ff'] }, metadata: {}, why: 'metadata cannot carry it' },
    {
      headers: {
        'x-request-id': ['theirs'],
        'x-guard-only': ['1'],
        'grpc-timeout': ['1n'],
        constructor: ['x'],
        cookie: ['a=b'],
      },
      metadata: {},
      why: 'nothing else passes',
    },
  ])('of $headers: $why', ({ headers, metadata }) => {
    const made = callMetadata(headers, 'id', forwarded);
    expect(Object.fromEntries(made)).toEqual({ 'x-request-id': 'id', ...metadata });
  });
});

describe('a header that metadata cannot carry', () => {
  it.each([{}, { 'idempotency-key': 'k-1' }, { authorization: '\u00ff' }, { traceparent: '\u00ff' }])(
    '%o is no reason to refuse a request',
    (headers) => {
      expect(() => {
        requireFitHeaders(headers, forwarded);
      }).not.toThrow();
    },
  );

  it.each(['\u00ff', 'a\tb'])('is one where the caller relies on it: idempotency-key %j', (key) => {
    const check = (): void => {
      requireFitHeaders({ 'idempotency-key': key }, forwarded);
    };
    expect(refusal(check).reason).toBe('REQUEST_MALFORMED');
    expect(wrongFields(check)).toEqual(['idempotency-key']);
  });
});

describe('Request-Timeout', () => {
  it.each([
    { header: undefined, ms: 5000, why: 'the limit is the default' },
    { header: '1', ms: 1000, why: 'it is in seconds' },
    { header: '0.25', ms: 250, why: 'it may be a fraction' },
    { header: '0.000000001', ms: 0.000001, why: 'it may be short' },
    { header: '9999999999', ms: 5000, why: 'it does not exceed the limit' },
    { header: '9'.repeat(400), ms: 5000, why: 'it does not exceed the limit, however large' },
    { header: `0.${'0'.repeat(400)}1`, ms: 0, why: 'it is above zero, however small' },
  ])('$header is $ms milliseconds: $why', ({ header, ms }) => {
    expect(
      requestTimeoutMs(header === undefined ? {} : { 'request-timeout': header }, 5000, false),
    ).toBeCloseTo(ms, 9);
  });

  it.each(['', '0', '0.0', '-1', '+1', '1e3', '1s', '.5', '5.', 'NaN', 'Infinity', '1, 2', '0x1', ['1']])(
    '%j is refused',
    (header) => {
      expect(() => requestTimeoutMs({ 'request-timeout': header }, 5000, false)).toThrow(
        expect.objectContaining({ reason: 'REQUEST_MALFORMED' }) as Error,
      );
    },
  );
});
