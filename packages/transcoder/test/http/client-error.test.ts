import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { clientFailure, writeClientError } from '../../src/http/client-error.js';

const reply = { status: 400, headers: {}, body: '{}' };

function written(socket: PassThrough): string {
  return String(socket.read() ?? '');
}

describe('an error of the HTTP parser', () => {
  it.each([
    { code: 'HPE_INVALID_METHOD', reason: 'REQUEST_MALFORMED', httpStatus: 400 },
    { code: undefined, reason: 'REQUEST_MALFORMED', httpStatus: 400 },
    { code: 'HPE_HEADER_OVERFLOW', reason: 'HEADERS_TOO_LARGE', httpStatus: 431 },
    { code: 'ERR_HTTP_REQUEST_TIMEOUT', reason: 'REQUEST_TIMED_OUT', httpStatus: 408 },
  ])('$code is $httpStatus $reason', ({ code, ...failure }) => {
    expect(clientFailure(Object.assign(new Error('secret'), { code }))).toMatchObject(failure);
  });

  it('is answered on a connection that nothing was written to', () => {
    const socket = new PassThrough();
    expect(writeClientError(socket, undefined, reply, 'id')).toBe('answered');
    expect(written(socket)).toMatch(/^HTTP\/1\.1 400 Bad Request\r\nConnection: close\r\n[^]*\r\n\r\n\{\}$/);
    expect(socket.writableEnded).toBe(true);
  });

  it('is answered while an earlier request waits for its answer', () => {
    const socket = new PassThrough();
    writeClientError(socket, new ServerResponse(new IncomingMessage(new Socket())), reply, 'id');
    expect(written(socket)).toContain('HTTP/1.1 400');
  });

  it('is not written into an answer that is half written', () => {
    const socket = new PassThrough();
    const response = new ServerResponse(new IncomingMessage(new Socket()));
    response.writeHead(200).flushHeaders();
    expect(writeClientError(socket, response, reply, 'id')).toBe('destroyed');
    expect(written(socket)).toBe('');
    expect(socket.destroyed).toBe(true);
  });

  it('is not written to a connection that is closed', () => {
    const socket = new PassThrough().end();
    expect(writeClientError(socket, undefined, reply, 'id')).toBe('closed');
    expect(written(socket)).toBe('');
    expect(socket.destroyed).toBe(true);
  });
});
