import { describe, expect, it } from 'vitest';
import { requestTarget } from '../../src/http/head.js';
import { requestTimeoutMs } from '../../src/http/request-timeout.js';
import { wrongFields } from '../support/refusal.js';

describe('Request-Timeout', () => {
  it.each([
    { header: undefined, ms: Infinity, why: 'it is optional' },
    { header: '1', ms: 1000, why: 'it is in seconds' },
    { header: '0.25', ms: 250, why: 'it may be a fraction' },
    { header: '0.000000001', ms: 0.000001, why: 'it may be short' },
    { header: '9'.repeat(400), ms: Infinity, why: 'it may be as long as it likes' },
    { header: `0.${'0'.repeat(400)}1`, ms: 0, why: 'it is above zero, however small' },
  ])('$header is $ms milliseconds: $why', ({ header, ms }) => {
    const headers = header === undefined ? {} : { 'request-timeout': header };
    expect(requestTimeoutMs(headers, false)).toBeCloseTo(ms, 9);
  });
});

describe('Grpc-Timeout', () => {
  it.each([
    { header: '1H', ms: 3_600_000 },
    { header: '2M', ms: 120_000 },
    { header: '3S', ms: 3_000 },
    { header: '00000004m', ms: 4 },
    { header: '5u', ms: 0.005 },
    { header: '99999999n', ms: 99.999999 },
  ])('$header is $ms milliseconds, if it is enabled', ({ header, ms }) => {
    expect(requestTimeoutMs({ 'grpc-timeout': header }, true)).toBeCloseTo(ms, 9);
    expect(requestTimeoutMs({ 'grpc-timeout': header }, false)).toBe(Infinity);
  });

  it('does not exceed a shorter Request-Timeout', () => {
    expect(requestTimeoutMs({ 'grpc-timeout': '2S', 'request-timeout': '1' }, true)).toBe(1_000);
    expect(requestTimeoutMs({ 'grpc-timeout': '1S', 'request-timeout': '2' }, true)).toBe(1_000);
  });
});

describe('a timeout is refused', () => {
  it.each([
    ...['', '0', '0.0', '-1', '+1', '1e3', '1s', '.5', '5.', 'NaN', 'Infinity', '1, 2', '0x1', ['1']].map(
      (value) => ['request-timeout', value] as const,
    ),
    ...['', '1', 'S', '1s', '0S', '-1S', '1.5S', '1 S', '123456789S', '1S, 2S'].map(
      (value) => ['grpc-timeout', value] as const,
    ),
  ])('%s: %j', (name, value) => {
    expect(wrongFields(() => requestTimeoutMs({ [name]: value }, true))).toEqual([name]);
  });
});

describe('a request target', () => {
  it.each([
    ['/v1/books', '/v1/books', ''],
    ['/v1/books?', '/v1/books', ''],
    ['/v1/books?a=1?b', '/v1/books', 'a=1?b'],
    ['//v1/books', '//v1/books', ''],
    ['*', '*', ''],
    ['http://library.example/v1/books?a=1', '/v1/books', 'a=1'],
    ['HTTPS://library.example:8443/v1', '/v1', ''],
    ['http://library.example?a=1', '', 'a=1'],
    ['ftp://library.example/v1', 'ftp://library.example/v1', ''],
  ])('%s has the path %s and the query %s', (target, path, query) => {
    expect(requestTarget({ url: target })).toEqual({ url: target, path, query });
  });
});
