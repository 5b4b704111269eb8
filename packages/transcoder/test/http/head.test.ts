import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { clientFailure, requestTarget, requestTimeoutMs, writeClientError } from '../../src/http/head.js';
import { refusal, wrongFields } from '../support/refusal.js';

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

  it('is refused with what is allowed, then what came', () => {
    const refused = refusal(() => requestTimeoutMs({ 'request-timeout': '1s' }, 5000, false));
    expect(refused.violations()).toEqual([
      {
        field: 'request-timeout',
        description: 'Must be a decimal number of seconds above zero; got "1s".',
      },
    ]);
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

describe('Grpc-Timeout', () => {
  it.each([
    { header: '1H', ms: 3_600_000 },
    { header: '2M', ms: 120_000 },
    { header: '3S', ms: 3_000 },
    { header: '00000004m', ms: 4 },
    { header: '5u', ms: 0.005 },
    { header: '99999999n', ms: 99.999999 },
  ])('$header is $ms milliseconds, if it is enabled', ({ header, ms }) => {
    expect(requestTimeoutMs({ 'grpc-timeout': header }, Infinity, true)).toBeCloseTo(ms, 9);
    expect(requestTimeoutMs({ 'grpc-timeout': header }, 7, false)).toBe(7);
  });

  it('exceeds neither the limit nor a shorter Request-Timeout', () => {
    expect(requestTimeoutMs({ 'grpc-timeout': '1H' }, 5_000, true)).toBe(5_000);
    expect(requestTimeoutMs({ 'grpc-timeout': '2S', 'request-timeout': '1' }, 5_000, true)).toBe(1_000);
    expect(requestTimeoutMs({ 'grpc-timeout': '1S', 'request-timeout': '2' }, 5_000, true)).toBe(1_000);
  });

  it('is refused with what is allowed, then what came', () => {
    const refused = refusal(() => requestTimeoutMs({ 'grpc-timeout': '1s' }, 5000, true));
    expect(refused.violations()).toEqual([
      {
        field: 'grpc-timeout',
        description: 'Must be one to eight digits above zero and a unit (H, M, S, m, u or n); got "1s".',
      },
    ]);
  });

  it.each(['', '1', 'S', '1s', '0S', '-1S', '1.5S', '1 S', '123456789S', '1S, 2S'])(
    '%j is refused',
    (header) => {
      expect(wrongFields(() => requestTimeoutMs({ 'grpc-timeout': header }, 5_000, true))).toEqual([
        'grpc-timeout',
      ]);
    },
  );
});

describe('a request target', () => {
  it.each([
    { target: '/v1/books', path: '/v1/books', query: '' },
    { target: '/v1/books?', path: '/v1/books', query: '' },
    { target: '/v1/books?a=1?b', path: '/v1/books', query: 'a=1?b' },
    { target: '//v1/books', path: '//v1/books', query: '' },
    { target: '*', path: '*', query: '' },
    { target: 'http://library.example/v1/books?a=1', path: '/v1/books', query: 'a=1' },
    { target: 'HTTPS://library.example:8443/v1', path: '/v1', query: '' },
    { target: 'http://library.example?a=1', path: '', query: 'a=1' },
    { target: 'ftp://library.example/v1', path: 'ftp://library.example/v1', query: '' },
  ])('$target has the path $path and the query $query', ({ target, path, query }) => {
    expect(requestTarget(target)).toEqual({ path, query });
  });
});

describe('an error of the HTTP parser', () => {
  it.each([
    { code: 'HPE_INVALID_METHOD', reason: 'REQUEST_MALFORMED', httpStatus: 400 },
    { code: undefined, reason: 'REQUEST_MALFORMED', httpStatus: 400 },
    { code: 'HPE_INVALID_TRANSFER_ENCODING', reason: 'REQUEST_MALFORMED', httpStatus: 400 },
    { code: 'HPE_INVALID_CONTENT_LENGTH', reason: 'REQUEST_MALFORMED', httpStatus: 400 },
    { code: 'HPE_UNEXPECTED_CONTENT_LENGTH', reason: 'REQUEST_MALFORMED', httpStatus: 400 },
    { code: 'HPE_CHUNK_EXTENSIONS_OVERFLOW', reason: 'REQUEST_TOO_LARGE', httpStatus: 413 },
    { code: 'HPE_HEADER_OVERFLOW', reason: 'HEADERS_TOO_LARGE', httpStatus: 431 },
    { code: 'ERR_HTTP_REQUEST_TIMEOUT', reason: 'REQUEST_TIMED_OUT', httpStatus: 408 },
  ])('$code is $httpStatus $reason', ({ code, ...failure }) => {
    expect(clientFailure(Object.assign(new Error('secret'), { code }))).toMatchObject(failure);
  });

  it('gets a response in the usual shape of errors, and ends the connection', () => {
    const socket = new PassThrough();
    writeClientError(socket, { status: 400, headers: {}, body: '{}' }, 'id');
    expect(String(socket.read())).toBe(
      [
        'HTTP/1.1 400 Bad Request',
        'Connection: close',
        'X-Request-Id: id',
        'Cache-Control: no-store',
        'Content-Type: application/json',
        'Content-Length: 2',
        '',
        '{}',
      ].join('\r\n'),
    );
    expect(socket.writableEnded).toBe(true);
  });
});
