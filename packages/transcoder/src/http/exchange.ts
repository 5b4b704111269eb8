import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { knowsCaller } from '../failures/failure.js';
import { type HttpReply, writeEarlyReply, writeReply } from '../http-reply.js';
import type { LogKind, TranscoderLog } from '../log.js';
import type { RequestObservation } from '../request-observer.js';
import type { Cancellation, UnaryReply } from '../upstream.js';
import { hasBody, requestTarget, type SentHeaders } from './head.js';

/** A request in progress, with its response. */
export class Exchange implements Cancellation {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly requestId: string;
  /** When the request arrived, in milliseconds since the epoch. */
  readonly started: number;
  /** The HTTP method. */
  readonly verb: string;
  /** The request target as sent, even if a router has removed its own prefix. */
  readonly url: string;
  /** The headers that are read as sent. */
  readonly sent: SentHeaders;
  readonly observation: RequestObservation;
  /** The path template, for observers; undefined for an unknown path. The `answer` of `respond` may set it. */
  template: string | undefined;
  /** Whether the server has identified the caller; otherwise the client is unauthenticated. */
  callerKnown = false;
  /** Fields that the server adds to the log line. */
  fields: UnaryReply['fields'];
  /** Whether the response has been passed to Node. */
  written = false;
  readonly #awaitsContinue: boolean;
  #whenOver: (() => void)[] | undefined;
  #lost = false;

  /** @param awaitsContinue whether the client waits for 100 (RFC 9110 10.1.1) before it sends the body. */
  constructor(
    request: IncomingMessage,
    response: ServerResponse,
    sent: SentHeaders,
    requestId: string,
    started: number,
    awaitsContinue: boolean,
    observation: RequestObservation,
  ) {
    this.request = request;
    this.response = response;
    this.requestId = requestId;
    this.started = started;
    this.verb = String(request.method);
    this.url = targetOf(request);
    this.sent = sent;
    this.#awaitsContinue = awaitsContinue;
    this.observation = observation;
  }

  /**
   * Whether part of the body is unread. Until the end of the turn that delivered the head, Node may still hold that
   * part.
   */
  get partial(): boolean {
    return !this.request.complete && hasBody(this.request.headers);
  }

  /** Sends 100 if the client waits for it before it sends the body. */
  invite(): void {
    if (this.#awaitsContinue && !this.written) this.response.writeContinue();
  }

  /** Takes over what the server says about the caller, and for the log line. */
  learn(reply: UnaryReply): void {
    this.callerKnown = knowsCaller(reply);
    this.fields = reply.fields;
  }

  /** Notifies the observers of the outcome. Without a reply, the client has disconnected. */
  end(reply?: HttpReply): void {
    const { template, requestId } = this;
    this.observation.end({ template, status: reply?.status, reason: reply?.reason, requestId });
  }

  /** Whether the client disconnected before the response was written. Its upload breaks off before the response closes. */
  get cancelled(): boolean {
    const gone = this.#lost || this.response.closed || this.request.socket.destroyed;
    return gone && !this.response.writableFinished;
  }

  /** Whether the request is complete and its response closed: later bytes on the connection belong to neither. */
  get over(): boolean {
    return this.request.complete && this.response.closed;
  }

  /**
   * To be called when the connection has closed: Node 20 and 22 do not close a response that waits for an earlier one.
   */
  lose(): void {
    this.#lost = true;
    this.#tellOver();
  }

  /** Calls the listener once nothing more of the response can be sent. */
  whenOver(listener: () => void): void {
    if (this.#lost || this.response.closed) {
      listener();
      return;
    }
    if (this.#whenOver === undefined) this.response.once('close', this.#tellOver);
    this.#whenOver = [...(this.#whenOver ?? []), listener];
  }

  readonly #tellOver = (): void => {
    const listeners = this.#whenOver ?? [];
    this.#whenOver = undefined;
    for (const listener of listeners) listener();
  };

  onCancelled(listener: () => void): void {
    this.whenOver(() => {
      if (this.cancelled) listener();
    });
  }
}

/**
 * The request target. Express keeps it in `originalUrl`, since it removes the path of mounted middleware from `url`.
 */
export function targetOf(request: IncomingMessage & { readonly originalUrl?: string }): string {
  return String(request.originalUrl ?? request.url);
}

/**
 * The maximum number of requests on one connection whose responses have not been sent. Few clients send a second
 * request before the first response.
 */
export const MAX_UNSENT = 100;

/** The number of pipelined requests on all connections: those that arrived before an earlier response was sent. */
interface Pipelined {
  readonly most: number;
  count: number;
}

/** The requests of one connection whose responses have not been sent. */
class RequestQueue {
  /** The latest request, whether or not its response has been sent. */
  latest: Exchange | undefined;
  readonly #pipelined: Pipelined;
  /** In the order in which their responses are sent. */
  readonly #unsent: Exchange[] = [];
  #closed: boolean;

  constructor(socket: Duplex, pipelined: Pipelined) {
    this.#pipelined = pipelined;
    this.#closed = socket.closed;
    socket.once('close', this.#close);
  }

  /**
   * Whether there is no room for another request, not even to refuse it: Node keeps reading while the client reads no
   * responses, and needs a few KiB for each request.
   */
  get full(): boolean {
    const { length } = this.#unsent;
    const { most, count } = this.#pipelined;
    return length >= MAX_UNSENT || (length > 0 && count >= most);
  }

  begin(exchange: Exchange): void {
    this.latest = exchange;
    if (this.#closed) {
      exchange.lose();
      return;
    }
    if (this.#unsent.length > 0) this.#pipelined.count += 1;
    this.#unsent.push(exchange);
    exchange.response.once('close', this.#sent);
  }

  readonly #sent = (): void => {
    if (this.#closed) return;
    this.#unsent.shift();
    if (this.#unsent.length > 0) this.#pipelined.count -= 1;
  };

  /** Node 20 and 22 do not close the responses that are still queued when their connection closes. */
  readonly #close = (): void => {
    this.#closed = true;
    this.#pipelined.count -= Math.max(0, this.#unsent.length - 1);
    for (const exchange of this.#unsent.splice(0)) exchange.lose();
  };
}

/** The queues of the open connections that have received a request. */
export class RequestQueues {
  readonly #known = new WeakMap<Duplex, RequestQueue>();
  readonly #pipelined: Pipelined;

  /** @param most the maximum number of pipelined requests on all connections. */
  constructor(most: number) {
    this.#pipelined = { most, count: 0 };
  }

  of(socket: Duplex): RequestQueue {
    const known = this.#known.get(socket);
    if (known !== undefined) return known;
    const queue = new RequestQueue(socket, this.#pipelined);
    this.#known.set(socket, queue);
    return queue;
  }

  /** The latest request on a connection, if there is one. */
  latestOn(socket: Duplex): Exchange | undefined {
    return this.#known.get(socket)?.latest;
  }
}

interface FinishOptions {
  readonly log: TranscoderLog;
  readonly answeredLevel: 'info' | 'debug';
  readonly mayLog: (kind: LogKind) => boolean;
  readonly now: () => number;
  /** Returns the response for an error. */
  readonly failed: (error: unknown, exchange: Exchange) => HttpReply;
  /** How long bytes that arrive after the response are discarded, in milliseconds. */
  readonly lingerMs: () => number;
}

/** The log levels of causes by HTTP status; other causes matter only for debugging. */
const LEVELS: Readonly<Record<number, 'error' | 'warn'>> = { 429: 'warn', 500: 'error', 503: 'warn' };

/**
 * Creates the function that writes the response of an exchange and records the outcome. Only the first call for an
 * exchange has an effect.
 */
export function finishExchanges({ log, answeredLevel, mayLog, now, failed, lingerMs }: FinishOptions) {
  /** Logs the request in one line. @param reply undefined if the client has disconnected */
  function record(exchange: Exchange, reply?: HttpReply): void {
    const refused = reply === undefined || reply.status >= 400 || reply.reason !== undefined;
    const level = reply?.routine === true ? 'debug' : refused ? 'info' : answeredLevel;
    if (log.isLevelEnabled?.(level) === false) return;
    const { requestId, verb, started, url, callerKnown, fields, observation } = exchange;
    if (refused && level === 'info' && !mayLog(callerKnown ? 'callers' : 'unauthenticated')) return;
    const message = reply === undefined ? 'client gone' : refused ? 'request refused' : 'request answered';
    const line = {
      requestId,
      method: verb,
      path: loggedPath(url),
      status: reply?.status,
      reason: reply?.reason,
      ms: now() - started,
      ...fields,
      ...observation.fields,
    };
    log[level](line, message);
  }

  function gone(exchange: Exchange): void {
    exchange.end();
    record(exchange);
  }

  /** @param status selects the log level of the cause. Default: the status of the reply. */
  function answered(exchange: Exchange, reply: HttpReply, status = reply.status): void {
    const { requestId, observation } = exchange;
    const { cause } = reply;
    exchange.end(reply);
    if (cause !== undefined) {
      const level = LEVELS[status] ?? 'debug';
      if (level === 'debug' || mayLog('causes'))
        log[level]({ requestId, err: cause, ...observation.fields }, 'request failed');
    }
    record(exchange, reply);
  }

  /** Records a response with an iterable body once it has ended. */
  function finishLater(exchange: Exchange, reply: HttpReply, written: Promise<void>): void {
    let broken: HttpReply | undefined;
    written.catch((error: unknown) => {
      broken = failed(error, exchange);
      exchange.response.destroy();
    });
    exchange.whenOver(() => {
      broken ??= reply.brokenOff?.();
      if (broken === undefined && exchange.cancelled) gone(exchange);
      else answered(exchange, { ...reply, reason: broken?.reason, cause: broken?.cause }, broken?.status);
    });
  }

  return (exchange: Exchange, reply: HttpReply): void => {
    // `onClientError` may already have responded.
    if (exchange.written) return;
    exchange.written = true;
    const { requestId, response } = exchange;
    if (exchange.cancelled) {
      gone(exchange);
      return;
    }
    const early = exchange.partial && reply.headers['Connection'] === undefined;
    const write = (given: HttpReply): Promise<void> | undefined =>
      early
        ? writeEarlyReply(response, given, requestId, lingerMs())
        : writeReply(response, given, requestId);
    let sent = reply;
    let written: Promise<void> | undefined;
    try {
      written = write(reply);
    } catch (error) {
      // Node refuses a header, such as one with a line break, before it has sent any.
      for (const name of Object.keys(reply.headers)) response.removeHeader(name);
      sent = failed(error, exchange);
      written = write(sent);
    }
    if (written === undefined) answered(exchange, sent);
    else finishLater(exchange, sent, written);
  };
}

/** The maximum length of a path in a log line, in characters. */
const PATH_MAX = 128;
/** The longest segment shown in full, in characters: a segment longer than a UUID may be a misplaced token. */
const SEGMENT_MAX = 36;
const SEGMENT_SHOWN = 8;

/**
 * The path of a request target for log lines: without the query, and with long segments cut, since they may be tokens.
 */
export function loggedPath(target: string): string {
  const { path } = requestTarget(target);
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
