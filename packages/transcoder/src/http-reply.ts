import type { ServerResponse } from 'node:http';

/** An HTTP response before it is written. */
export interface HttpReply {
  readonly status: number;
  /** The headers that are not written for every reply. */
  readonly headers: Readonly<Record<string, string>>;
  /** Undefined for a reply without content. */
  readonly body?: string | Uint8Array;
  /** Default: `application/json`. */
  readonly contentType?: string;
  /** The cause that the client is not told; for the log. */
  readonly cause?: unknown;
  /** Why the request failed; for the log. */
  readonly reason?: string | undefined;
  /** Whether such requests come all the time, as checks of the health do: their lines in the log are at `debug`. */
  readonly routine?: boolean;
}

/** The response for a failure: always with a body. */
export interface ErrorReply extends HttpReply {
  readonly body: string;
}

/** Writes a reply. Node omits the content for HEAD. */
export function writeReply(response: ServerResponse, reply: HttpReply, requestId: string): void {
  response.end(writeHead(response, reply, requestId));
}

/**
 * Writes a reply to a request whose body has not come, as the last on its connection. The connection stays open until
 * the client ends it: to close it while the client sends would reset it, and cost the client the answer (RFC 9112 9.6).
 *
 * @param lingerMs how long it stays open at most, in milliseconds; what comes meanwhile is dropped
 */
export function writeEarlyReply(
  response: ServerResponse,
  reply: HttpReply,
  requestId: string,
  lingerMs: number,
): void {
  const closing = { ...reply, headers: { ...reply.headers, Connection: 'close' } };
  const body = writeHead(response, closing, requestId);
  if (body !== undefined) response.write(body);
  response.flushHeaders();
  const end = (): void => void response.end();
  const timer = setTimeout(end, lingerMs);
  response.once('close', () => {
    clearTimeout(timer);
  });
  response.req.once('end', end).resume();
}

/** @returns the content. */
function writeHead(response: ServerResponse, reply: HttpReply, requestId: string): Uint8Array | undefined {
  const headers: Record<string, string | number> = { 'X-Request-Id': requestId, ...reply.headers };
  headers['Cache-Control'] ??= 'no-store';
  // What a middleware in front, such as one for CORS, depends on would be lost otherwise.
  const vary = response.getHeader('Vary');
  if (vary !== undefined && headers['Vary'] !== undefined)
    headers['Vary'] = `${String(vary)}, ${headers['Vary']}`;
  // Node writes bytes as they are, but copies text together with the headers, into three times the space.
  const body = typeof reply.body === 'string' ? Buffer.from(reply.body) : reply.body;
  if (body !== undefined) {
    headers['Content-Type'] = reply.contentType ?? 'application/json';
    headers['Content-Length'] = body.length;
  }
  response.writeHead(reply.status, headers);
  return body;
}
