import type { ServerResponse } from 'node:http';
import type { HttpReply } from '../http-reply.js';

/** Statuses of responses without content and without `Content-Length` (RFC 9110 8.6, 15.4.5). */
const WITHOUT_LENGTH: ReadonlySet<number> = new Set([204, 304]);
/** The most content that is passed to Node in one write, in bytes. */
const PIECE_BYTES = 16_384;

/**
 * Writes a reply. For HEAD, Node omits the content.
 *
 * @returns for an iterable body, a promise that resolves when all chunks are written, or rejects with the error of the
 *   iterable; otherwise undefined.
 */
export function writeReply(
  response: ServerResponse,
  reply: HttpReply,
  requestId: string,
): Promise<void> | undefined {
  const body = writeHead(response, reply, requestId);
  return writeContent(response, body, (last) => {
    response.end(last);
  });
}

/**
 * Writes a reply to a request whose body has not fully arrived, as the last reply on its connection. The connection
 * stays open until the client has sent the rest: closing it earlier would reset it, and the client would lose the
 * response (RFC 9112 9.6).
 *
 * @param lingerMs the longest time that the connection stays open after the response, in milliseconds; bytes received
 *   meanwhile are discarded
 */
export function writeEarlyReply(
  response: ServerResponse,
  reply: HttpReply,
  requestId: string,
  lingerMs: number,
): Promise<void> | undefined {
  const closing = { ...reply, headers: { ...reply.headers, Connection: 'close' } };
  // Reads and discards the rest.
  response.req.resume();
  const body = writeHead(response, closing, requestId);
  return writeContent(response, body, (last) => {
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

/**
 * Writes the content of a response, after its head.
 *
 * @param finish ends the response, with a small content that has not been written yet.
 * @returns what `writeReply` returns.
 */
function writeContent(
  response: ServerResponse,
  body: Uint8Array | AsyncIterable<Uint8Array> | undefined,
  finish: (last: Uint8Array | undefined) => void,
): Promise<void> | undefined {
  if (isPieces(body)) {
    // The head is sent at once, since the first chunk may come much later.
    response.flushHeaders();
    return writeEach(response, body, finish);
  }
  if (body === undefined || body.length <= PIECE_BYTES) finish(body);
  else writeEach(response, [body], finish).catch(() => response.destroy());
  return undefined;
}

/** Writes each chunk once the connection has accepted the previous chunk. */
async function writeEach(
  response: ServerResponse,
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  finish: (last: undefined) => void,
): Promise<void> {
  if (response.req.method !== 'HEAD') {
    const write = contentWriter(response);
    for await (const chunk of chunks) {
      await write(chunk);
      if (hasEnded(response)) return;
    }
  }
  finish(undefined);
}

/** Whether nothing more can be written: the connection has closed, or other code has ended the response. */
function hasEnded({ closed, writableEnded }: ServerResponse): boolean {
  return closed || writableEnded;
}

/**
 * Returns a function that writes content in pieces, each once the connection has accepted the previous piece. A client
 * that does not read then costs the memory of one piece; otherwise TLS would copy the whole content. The promise
 * resolves once all pieces are accepted or the connection has closed.
 */
function contentWriter(response: ServerResponse): (content: Uint8Array) => Promise<void> {
  let settle = (): void => undefined;
  const onTaken = (error?: Error | null): void => {
    // After an error, `close` follows.
    if (!error) settle();
  };
  response.once('close', onTaken).on('error', onTaken);

  // Compression middleware replaces `write` and ignores the callback: it signals by `drain` and by its return value.
  const isReplaced = Object.hasOwn(response, 'write');
  if (isReplaced) response.on('drain', onTaken);

  const write = (piece: Uint8Array): Promise<void> =>
    new Promise((resolve) => {
      settle = resolve;
      const isBelowLimit = response.write(piece, onTaken);
      if (isBelowLimit && isReplaced) resolve();
    });

  return async (content) => {
    for (let start = 0; start < content.length && !hasEnded(response); start += PIECE_BYTES)
      await write(content.subarray(start, start + PIECE_BYTES));
  };
}

function isPieces(body: HttpReply['body']): body is AsyncIterable<Uint8Array> {
  return typeof body === 'object' && Symbol.asyncIterator in body;
}

/** Writes the head. @returns the content, with text encoded */
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

  // Node writes bytes as they are, but copies text together with the headers, which takes three times the memory.
  const body = typeof reply.body === 'string' ? Buffer.from(reply.body) : reply.body;
  if (body !== undefined) {
    headers['Content-Type'] = reply.contentType ?? 'application/json';
    if (!isPieces(body)) headers['Content-Length'] = body.length;
  } else if (!WITHOUT_LENGTH.has(reply.status)) {
    // Otherwise Node would use the chunked coding for the empty content.
    headers['Content-Length'] = 0;
  }

  // Middleware that replaces `writeHead`, such as a cache, looks for headers among those that are set.
  if (Object.hasOwn(response, 'writeHead')) response.setHeaders(new Map(Object.entries(headers)));
  response.writeHead(reply.status, headers);
  // Without a socket, Node buffers this response behind an earlier response. A head that is not flushed would come before
  // a 100 that is already buffered.
  if (response.socket === null) response.flushHeaders();
  return body;
}
