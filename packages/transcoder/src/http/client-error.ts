import { STATUS_CODES, type ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { Failure, malformed } from '../failures/failure.js';
import type { ErrorReply } from '../http-reply.js';
import { framingUnclear, lengthUnclear } from './request-head.js';

/** The failure for an error of Node's HTTP parser or of its time limits. */
export function clientFailure(error: Error): Failure {
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'HPE_HEADER_OVERFLOW') return headersTooLarge();
  if (code === 'HPE_CHUNK_EXTENSIONS_OVERFLOW') return chunkExtensionsTooLarge();
  if (code === 'HPE_INVALID_TRANSFER_ENCODING') return framingUnclear();
  if (code === 'HPE_INVALID_CONTENT_LENGTH' || code === 'HPE_UNEXPECTED_CONTENT_LENGTH') {
    return lengthUnclear();
  }
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return requestTimedOut();
  return malformed('The request is not well-formed HTTP.');
}

/** Whether the client has ended the connection in the middle of a request. */
export function isEndOfUpload(error: Error): boolean {
  return (error as NodeJS.ErrnoException).code === 'HPE_INVALID_EOF_STATE';
}

/** The headers exceed the limit of Node's parser. */
export function headersTooLarge(): Failure {
  return new Failure('HEADERS_TOO_LARGE', 'The headers are larger than the server accepts.');
}

/** The headers or the body did not arrive within Node's time limits. */
export function requestTimedOut(): Failure {
  return new Failure('REQUEST_TIMED_OUT', 'The request did not arrive in time.');
}

function chunkExtensionsTooLarge(): Failure {
  return new Failure(
    'REQUEST_TOO_LARGE',
    'The chunk extensions of the body are larger than the server accepts.',
  );
}

/** Writes a reply to bytes that Node could not parse as a request, and ends the connection. */
export function writeClientError(socket: Duplex, { status, body }: ErrorReply, requestId: string): void {
  const { [status]: phrase = '' } = STATUS_CODES;
  socket.end(
    [
      `HTTP/1.1 ${status} ${phrase}`,
      'Connection: close',
      `X-Request-Id: ${requestId}`,
      'Cache-Control: no-store',
      'Content-Type: application/json',
      `Content-Length: ${Buffer.byteLength(body)}`,
      '',
      body,
    ].join('\r\n'),
  );
}

/**
 * Ends a connection after its latest response. Node writes responses in order, so all earlier ones are written, too.
 */
export function endAfter(response: ServerResponse, socket: Duplex): void {
  if (!response.headersSent) response.setHeader('Connection', 'close');
  response.once('finish', () => void socket.end(() => socket.destroy()));
}
