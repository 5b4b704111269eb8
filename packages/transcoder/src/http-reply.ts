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
}

/** The response for a failure: always with a body. */
export interface ErrorReply extends HttpReply {
  readonly body: string;
}

/** Writes a reply. Node omits the content for HEAD. */
export function writeReply(response: ServerResponse, reply: HttpReply, requestId: string): void {
  const headers: Record<string, string | number> = { 'X-Request-Id': requestId, ...reply.headers };
  headers['Cache-Control'] ??= 'no-store';
  // Node writes bytes as they are, but copies text together with the headers, into three times the space.
  const body = typeof reply.body === 'string' ? Buffer.from(reply.body) : reply.body;
  if (body !== undefined) {
    headers['Content-Type'] = reply.contentType ?? 'application/json';
    headers['Content-Length'] = body.length;
  }
  response.writeHead(reply.status, headers).end(body);
}
