import type { ServerResponse } from 'node:http';

/** An HTTP response before it is written. */
export interface HttpReply {
  readonly status: number;
  /** Headers in addition to those of every reply. */
  readonly headers: Readonly<Record<string, string>>;
  /** Undefined for a reply without content. Pieces are asked for as the client takes them. */
  readonly body?: string | Uint8Array | AsyncIterable<Uint8Array>;
  /** Why a body of pieces is not whole, asked when its response is over; for the log. */
  readonly brokenOff?: () => ErrorReply | undefined;
  /** Default: `application/json`. */
  readonly contentType?: string;
  /** The cause, which the client does not see; for the log. */
  readonly cause?: unknown;
  /** Why the request failed; for the log. */
  readonly reason?: string | undefined;
  /** Whether such requests are frequent routine, such as health checks: they are logged at `debug`. */
  readonly routine?: boolean;
}

/** The response for a failure, which always has a body. */
export interface ErrorReply extends HttpReply {
  readonly body: string;
}

/** Responses that never have content, nor a length of it (RFC 9110 8.6, 15.4.5). */
const WITHOUT_LENGTH: ReadonlySet<number> = new Set([204, 304]);
/** The most content that is handed to Node at once, in bytes. */
const PIECE_BYTES = 16_384;

/**
 * Writes a reply. Node omits the content for HEAD.
 *
 * @returns for a body of pieces, a promise that is rejected with their error, if they have one.
 */
export function writeReply(
  response: ServerResponse,
  reply: HttpReply,
  requestId: string,
): Promise<void> | undefined {
  return writeContent(response, writeHead(response, reply, requestId), (last) => {
    response.end(last);
  });
}

/**
 * Writes a reply to a request whose body has not arrived, as the last one on its connection. The connection stays open
 * until the client ends it: closing it while the client is sending would reset it, and the client would lose the
 * response (RFC 9112 9.6).
 *
 * @param lingerMs how long it stays open at most after the response, in milliseconds; everything received meanwhile is
 *   dropped
 */
export function writeEarlyReply(
  response: ServerResponse,
  reply: HttpReply,
  requestId: string,
  lingerMs: number,
): Promise<void> | undefined {
  const closing = { ...reply, headers: { ...reply.headers, Connection: 'close' } };
  response.req.resume();
  return writeContent(response, writeHead(response, closing, requestId), (last) => {
    if (last !== undefined) response.write(last);
    response.flushHeaders();
    const end = (): void => void response.end();
    const timer = setTimeout(end, lingerMs);
    response.once('close', () => {
      clearTimeout(timer);
    });
    if (response.req.readableEnded) end();
    else response.req.once('end', end);
  });
}

function writeContent(
  response: ServerResponse,
  body: Uint8Array | AsyncIterable<Uint8Array> | undefined,
  finish: (last: Uint8Array | undefined) => void,
): Promise<void> | undefined {
  if (isPieces(body)) return writeEach(response, body, finish);
  if (body === undefined || body.length <= PIECE_BYTES) finish(body);
  else void writeLarge(response, body, finish);
  return undefined;
}

/** Writes what comes in pieces, each once the connection has taken the one before. */
async function writeEach(
  response: ServerResponse,
  pieces: AsyncIterable<Uint8Array>,
  finish: (last: undefined) => void,
): Promise<void> {
  // They may come later than the client should know that they do.
  response.flushHeaders();
  if (response.req.method !== 'HEAD') {
    const write = contentWriter(response);
    for await (const piece of pieces) {
      await write(piece);
      if (response.closed) break;
    }
  }
  finish(undefined);
}

async function writeLarge(
  response: ServerResponse,
  body: Uint8Array,
  finish: (last: undefined) => void,
): Promise<void> {
  await contentWriter(response)(body);
  if (!response.closed) finish(undefined);
}

/**
 * Returns a function that writes content in pieces, each once the connection has taken the one before: a client that
 * does not read holds one piece, which TLS would otherwise copy as a whole. It settles once all are taken, or the
 * connection is gone.
 */
function contentWriter(response: ServerResponse): (content: Uint8Array) => Promise<void> {
  let settle = (): void => undefined;
  const taken = (error?: Error | null): void => {
    // With an error, the connection is about to close.
    if (!error) settle();
  };
  response.once('close', taken);
  // Middleware that compresses replaces `write`, and does not call back: it tells by `drain`, and by what it returns.
  const replaced = Object.hasOwn(response, 'write');
  if (replaced) response.on('drain', taken);
  const write = (piece: Uint8Array): Promise<void> =>
    new Promise((resolve) => {
      settle = resolve;
      if (response.write(piece, taken) && replaced) resolve();
    });
  return async (content) => {
    for (let start = 0; start < content.length && !response.closed; start += PIECE_BYTES)
      await write(content.subarray(start, start + PIECE_BYTES));
  };
}

function isPieces(body: HttpReply['body']): body is AsyncIterable<Uint8Array> {
  return typeof body === 'object' && Symbol.asyncIterator in body;
}

/** @returns the content */
function writeHead(
  response: ServerResponse,
  reply: HttpReply,
  requestId: string,
): Exclude<HttpReply['body'], string> {
  const headers: Record<string, string | number> = { 'X-Request-Id': requestId, ...reply.headers };
  headers['Cache-Control'] ??= 'no-store';
  // Otherwise the `Vary` of middleware in front, such as CORS middleware, would be lost.
  const vary = response.getHeader('Vary');
  if (vary !== undefined && headers['Vary'] !== undefined)
    headers['Vary'] = `${String(vary)}, ${headers['Vary']}`;
  // Node writes bytes as they are, but copies text together with the headers into three times the space.
  const body = typeof reply.body === 'string' ? Buffer.from(reply.body) : reply.body;
  if (body !== undefined) {
    headers['Content-Type'] = reply.contentType ?? 'application/json';
    if (!isPieces(body)) headers['Content-Length'] = body.length;
  } else if (!WITHOUT_LENGTH.has(reply.status)) {
    // Otherwise Node would send the empty content in chunks.
    headers['Content-Length'] = 0;
  }
  response.writeHead(reply.status, headers);
  // While another response is written, Node keeps this one, and would put its head before a 100 that it already keeps.
  if (response.socket === null) response.flushHeaders();
  return body;
}
