import { type ServerResponse, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { HttpFailure, malformed } from '../failures/failure.js';
import type { ErrorReply } from '../http-reply.js';
import { framingUnclear, headersTooLarge, malformedHeader, UNCLEAR } from './head.js';

/** The failure for an error of Node's HTTP parser or of its time limits. */
export function clientFailure(error: Error): HttpFailure {
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'HPE_HEADER_OVERFLOW') return headersTooLarge();
  if (code === 'HPE_CHUNK_EXTENSIONS_OVERFLOW')
    return new HttpFailure(
      'REQUEST_TOO_LARGE',
      'The chunk extensions of the body are larger than the server accepts.',
    );
  if (code === 'HPE_INVALID_TRANSFER_ENCODING') return framingUnclear();
  if (code === 'HPE_INVALID_CONTENT_LENGTH' || code === 'HPE_UNEXPECTED_CONTENT_LENGTH') {
    const allowed = 'Must be one decimal number, without Transfer-Encoding';
    return malformedHeader('content-length', `${allowed}; got ${UNCLEAR}.`);
  }
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT')
    return new HttpFailure('REQUEST_TIMED_OUT', 'The request did not arrive in time.');
  return malformed('The request is not well-formed HTTP.');
}

/** Whether the client has ended the connection in the middle of a request. */
export function isEndOfUpload(error: Error): boolean {
  return (error as NodeJS.ErrnoException).code === 'HPE_INVALID_EOF_STATE';
}

/** Writes a reply to bytes that Node could not parse as a request, and ends the connection. */
export function writeClientError(socket: Duplex, { status, body }: ErrorReply, requestId: string): void {
  const { [status]: phrase = '' } = STATUS_CODES;
  socket.end(
    [
      `HTTP/1.1 ${status} ${phrase}`,
      `Date: ${new Date().toUTCString()}`,
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
