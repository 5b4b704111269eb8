import { STATUS_CODES, type ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { Failure, malformed } from '../failures/failure.js';
import type { ErrorReply } from '../http-reply.js';

/** The failure that stands for an error of Node's HTTP parser or of its time limits. */
export function clientFailure(error: Error): Failure {
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'HPE_HEADER_OVERFLOW') return headersTooLarge();
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return requestTimedOut();
  return malformed('The request is not well-formed HTTP.');
}

/** Node's parser takes no more headers than this. */
export function headersTooLarge(): Failure {
  return new Failure('HEADERS_TOO_LARGE', 'The headers are larger than the server takes.');
}

/** Headers or body took longer than the server waits for them. */
export function requestTimedOut(): Failure {
  return new Failure('REQUEST_TIMED_OUT', 'The request did not arrive in time.');
}

/**
 * Writes a reply for a request that Node did not make out, and ends the connection.
 *
 * @param underWay the response of the connection that is not written yet. One that is half written must not be
 * written into, and one whose request is complete must not be overtaken: its caller would take this answer for
 * its own.
 * @returns `destroyed` where only an end of the connection was possible, `closed` where it had ended before.
 */
export function writeClientError(
  socket: Duplex,
  underWay: ServerResponse | undefined,
  { status, body }: ErrorReply,
  requestId: string,
): 'answered' | 'destroyed' | 'closed' {
  const writable = socket.writable;
  if (!writable || underWay?.headersSent === true || underWay?.req.complete === true) {
    socket.destroy();
    return writable ? 'destroyed' : 'closed';
  }
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
  return 'answered';
}
