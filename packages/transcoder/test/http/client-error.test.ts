import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { clientFailure, writeClientError } from '../../src/http/client-error.js';

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
