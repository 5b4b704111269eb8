import type { ServerResponse } from 'node:http';
import type { Hooks } from '../hooks.js';
import type { HttpReply } from '../http-reply.js';
import type { Exchange } from './exchange.js';

interface ResponderOptions extends Pick<Hooks, 'log' | 'mayLog' | 'now'> {
  readonly answeredLevel: 'info' | 'debug';
  /** Returns the response for an error. */
  readonly failed: (error: unknown, exchange: Exchange) => HttpReply;
}

/** The log levels of causes by HTTP status; other causes matter only for debugging. */
const LEVELS: Readonly<Record<number, 'error' | 'warn'>> = { 429: 'warn', 500: 'error', 503: 'warn' };

/** How long bytes that arrive after the response are discarded, in milliseconds. */
const LINGER_MS = 500;

/** Writes the responses of exchanges, and records their outcomes. Never throws: a response that cannot be written is cut. */
export class Responder {
  readonly #options: ResponderOptions;
  #lingerMs = LINGER_MS;

  constructor(options: ResponderOptions) {
    this.#options = options;
  }

  /** Waits for no more bytes after later responses, since the server is closing. */
  close(): void {
    this.#lingerMs = 0;
  }

  /** Writes the response of an exchange, unless it has one, and records the outcome. */
  finish(exchange: Exchange, reply: HttpReply): void {
    // `onClientError` may already have responded.
    if (exchange.written) return;
    const { answeredByOthers, cancelled, response } = exchange;
    exchange.written = true;
    if (answeredByOthers) this.#record(exchange, { status: response.statusCode });
    else if (cancelled) this.#record(exchange);
    else this.#send(exchange, reply);
  }

  #send(exchange: Exchange, reply: HttpReply): void {
    try {
      const written = this.#write(exchange, reply);
      if (written === undefined) this.#answered(exchange, reply);
      else this.#finishLater(exchange, reply, written);
    } catch (error) {
      const { response } = exchange;
      // Node refuses a header, such as one with a line break, before it has sent any. An `answer` may return nothing.
      const { headers } = (reply as Partial<HttpReply> | undefined) ?? {};
      if (!response.headersSent) for (const name of Object.keys(headers ?? {})) response.removeHeader(name);
      this.#sendFailure(exchange, this.#options.failed(error, exchange));
    }
  }

  #sendFailure(exchange: Exchange, failure: HttpReply): void {
    try {
      void this.#write(exchange, failure);
    } catch {
      exchange.response.destroy();
    }
    this.#answered(exchange, failure);
  }

  #write(exchange: Exchange, reply: HttpReply): Promise<void> | undefined {
    const { requestId, response } = exchange;
    return exchange.partial && reply.headers['Connection'] === undefined
      ? writeEarlyReply(response, reply, requestId, this.#lingerMs)
      : writeReply(response, reply, requestId);
  }

  /** Records a response with an iterable body once it has ended. */
  #finishLater(exchange: Exchange, reply: HttpReply, written: Promise<void>): void {
    let broken: HttpReply | undefined;
    written.catch((error: unknown) => {
      broken = this.#options.failed(error, exchange);
      exchange.response.destroy();
    });
    exchange.onClose(() => {
      try {
        broken ??= reply.brokenOff?.();
      } catch (error) {
        broken = this.#options.failed(error, exchange);
      }
      if (broken === undefined && exchange.cancelled) this.#record(exchange);
      else
        this.#answered(exchange, { ...reply, reason: broken?.reason, cause: broken?.cause }, broken?.status);
    });
  }

  /** @param status selects the log level of the cause. Default: the status of the reply. */
  #answered(exchange: Exchange, reply: HttpReply, status = reply.status): void {
    const { log, mayLog } = this.#options;
    const { requestId, observation } = exchange;
    const { cause } = reply;
    const level = LEVELS[status] ?? 'debug';
    if (cause !== undefined && (level === 'debug' || mayLog('causes')))
      log[level]({ requestId, err: cause, ...observation.fields }, 'request failed');
    this.#record(exchange, reply);
  }

  /** Tells the observers the outcome, and logs the request in one line. @param reply undefined if the client has disconnected */
  #record(exchange: Exchange, reply?: Pick<HttpReply, 'status' | 'reason' | 'routine'>): void {
    const { log, answeredLevel, mayLog, now } = this.#options;
    exchange.end(reply);
    const refused = reply === undefined || reply.status >= 400 || reply.reason !== undefined;
    const level = reply?.routine === true ? 'debug' : refused ? 'info' : answeredLevel;
    if (log.isLevelEnabled?.(level) === false) return;
    const { requestId, verb, started, target, callerKnown, fields, observation } = exchange;
    if (refused && level === 'info' && !mayLog(callerKnown ? 'callers' : 'unauthenticated')) return;
    const message = reply === undefined ? 'client gone' : refused ? 'request refused' : 'request answered';
    const line = {
      requestId,
      method: verb,
      path: loggedPath(target.path),
      status: reply?.status,
      reason: reply?.reason,
      ms: now() - started,
      ...fields,
      ...observation.fields,
    };
    log[level](line, message);
  }
}

/** Statuses of responses without content and without `Content-Length` (RFC 9110 8.6, 15.4.5). */
const WITHOUT_LENGTH: ReadonlySet<number> = new Set([204, 304]);
/** The most content passed to Node in one write, in bytes. */
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
  return writeContent(response, writeHead(response, reply, requestId), (last) => {
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
  if (isPieces(body)) {
    // The head is sent at once, since the first chunk may come much later.
    response.flushHeaders();
    return writeEach(response, body, finish);
  }
  if (body === undefined || body.length <= PIECE_BYTES) finish(body);
  else writeEach(response, [body], finish).catch(() => response.destroy());
  return undefined;
}

/** Writes each chunk once the connection has accepted the previous one. */
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
 * Returns a function that writes content in pieces, each once the connection has accepted the previous one. A client
 * that does not read then costs the memory of one piece; otherwise TLS would copy the whole content. The promise
 * resolves once all pieces are accepted or the connection has closed.
 */
function contentWriter(response: ServerResponse): (content: Uint8Array) => Promise<void> {
  let settle = (): void => undefined;
  const taken = (error?: Error | null): void => {
    // With an error, the response is about to close.
    if (!error) settle();
  };
  response.once('close', taken).on('error', taken);
  // Compression middleware replaces `write` and ignores the callback: it signals by `drain` and by its return value.
  const replaced = Object.hasOwn(response, 'write');
  if (replaced) response.on('drain', taken);
  const write = (piece: Uint8Array): Promise<void> =>
    new Promise((resolve) => {
      settle = resolve;
      if (response.write(piece, taken) && replaced) resolve();
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
  response.writeHead(reply.status, headers);
  // Node buffers this response while an earlier one is being written, and would put its head before a buffered 100.
  if (response.socket === null) response.flushHeaders();
  return body;
}

/** The maximum length of a path in a log line, in characters. */
const PATH_MAX = 128;
/** The longest segment shown in full, in characters: a segment longer than a UUID may be a misplaced token. */
const SEGMENT_MAX = 36;
const SEGMENT_SHOWN = 8;

/** A path for log lines, with long segments cut, since they may be tokens. */
export function loggedPath(path: string): string {
  // One character is one byte here, since Node reads a request target as Latin-1.
  const visible = path.replace(
    /[^\x21-\x7e]/g,
    (byte) => `%${byte.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  if (visible.length <= SEGMENT_MAX) return visible;
  const shown = visible.split('/').map(shortened).join('/');
  return shown.length > PATH_MAX ? `${shown.slice(0, PATH_MAX - 1)}…` : shown;
}

function shortened(segment: string): string {
  return segment.length > SEGMENT_MAX ? `${segment.slice(0, SEGMENT_SHOWN)}…` : segment;
}
