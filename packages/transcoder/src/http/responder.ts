import { type IncomingMessage, type RequestListener, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { ErrorReplies } from '../failures/error-reply.js';
import { HttpFailure, internal } from '../failures/failure.js';
import type { HttpReply } from '../http-reply.js';
import { clientFailure, endAfter, isEndOfUpload, writeClientError } from './client-errors.js';
import { type Arriving, Exchange } from './exchange.js';
import { requestTarget, requireWellFormedHead } from './head.js';
import { loggedPath } from './logged-path.js';
import { type Pipelined, RequestQueue } from './request-queue.js';
import { writeEarlyReply, writeReply } from './response.js';

/** Returns the response to a request. */
export type Answer = (exchange: Exchange) => HttpReply | Promise<HttpReply>;

interface ResponderOptions extends Arriving {
  readonly errors: ErrorReplies;
  readonly answeredLevel: 'info' | 'debug';
  readonly maxRequests: number;
}

/** The log levels of causes by HTTP status; other causes matter only for debugging. */
const LEVELS: Readonly<Record<number, 'error' | 'warn'>> = { 429: 'warn', 500: 'error', 503: 'warn' };

/** How long bytes that arrive after the response are discarded, in milliseconds. */
const LINGER_MS = 500;

/** Responds to requests: the way of each from its arrival to its response, its outcome and its line in the log. */
export class Responder {
  readonly #options: ResponderOptions;
  readonly #pipelined: Pipelined;
  #lingerMs = LINGER_MS;

  constructor(options: ResponderOptions) {
    this.#options = options;
    this.#pipelined = { count: 0, most: options.maxRequests };
  }

  /** Waits for no more bytes after later responses, since the server is closing. */
  close(): void {
    this.#lingerMs = 0;
  }

  /** @param awaitsContinue whether the client waits for 100 (RFC 9110 10.1.1) before it sends the body. */
  respond(
    request: IncomingMessage,
    response: ServerResponse,
    answer: Answer,
    target = requestTarget(request),
    awaitsContinue = false,
  ): void {
    const { socket } = request;
    const queue = RequestQueue.of(socket);
    if (queue.isFull(this.#pipelined)) {
      if (!socket.destroyed)
        this.#options.log.debug({ requestId: queue.latest?.requestId }, 'connection ends');
      socket.destroy();
      return;
    }
    const exchange = new Exchange(request, response, target, awaitsContinue, this.#options);
    queue.begin(exchange, this.#pipelined);
    const reply = this.#reply(exchange, answer);
    if (reply instanceof Promise) {
      void reply.then(
        (lateReply) => {
          this.#finishInTurn(exchange, lateReply);
        },
        (error: unknown) => {
          this.#finishInTurn(exchange, this.#failureReply(error, exchange));
        },
      );
    } else if (exchange.partial) {
      // Node has not yet read the bytes that arrived with the head.
      setImmediate(() => {
        this.#finishInTurn(exchange, reply);
      });
    } else {
      this.#finishInTurn(exchange, reply);
    }
  }

  #reply(exchange: Exchange, answer: Answer): ReturnType<Answer> {
    try {
      if (exchange.answeredByOthers) throw new Error('Other code has responded.');
      requireWellFormedHead(exchange.request, exchange.target.url, exchange.sent);
      return answer(exchange);
    } catch (error) {
      return this.#failureReply(error, exchange);
    }
  }

  #finishInTurn(exchange: Exchange, reply: HttpReply): void {
    this.#options.write(() => {
      this.#finish(exchange, reply);
    });
  }

  /**
   * Writes the response of an exchange, unless it has one, and records the outcome. Never throws: a response that cannot
   * be written is cut.
   */
  #finish(exchange: Exchange, reply: HttpReply): void {
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
      if (written === undefined) this.#recordReply(exchange, reply);
      else this.#finishLater(exchange, reply, written);
    } catch (error) {
      const { response } = exchange;
      // Node refuses a header, such as one with a line break, before it has sent any. An `answer` may return nothing.
      const { headers } = (reply as Partial<HttpReply> | undefined) ?? {};
      if (!response.headersSent) for (const name of Object.keys(headers ?? {})) response.removeHeader(name);
      this.#sendFailure(exchange, this.#failureReply(error, exchange));
    }
  }

  #sendFailure(exchange: Exchange, failure: HttpReply): void {
    try {
      void this.#write(exchange, failure);
    } catch {
      exchange.response.destroy();
    }
    this.#recordReply(exchange, failure);
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
      broken = this.#failureReply(error, exchange);
      exchange.response.destroy();
    });
    exchange.onClose(() => {
      try {
        broken ??= reply.brokenOff?.();
      } catch (error) {
        broken = this.#failureReply(error, exchange);
      }
      if (broken === undefined && exchange.cancelled) this.#record(exchange);
      else
        this.#recordReply(
          exchange,
          { ...reply, reason: broken?.reason, cause: broken?.cause },
          broken?.status,
        );
    });
  }

  /** @param status selects the log level of the cause. Default: the status of the reply. */
  #recordReply(exchange: Exchange, reply: HttpReply, status = reply.status): void {
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

    const isRefused = reply === undefined || reply.status >= 400 || reply.reason !== undefined;
    const usualLevel = isRefused ? 'info' : answeredLevel;
    const level = reply?.routine === true ? 'debug' : usualLevel;
    if (log.isLevelEnabled?.(level) === false) return;

    const { requestId, verb, started, target, callerKnown, fields, observation } = exchange;
    if (isRefused && level === 'info' && !mayLog(callerKnown ? 'callers' : 'unauthenticated')) return;

    const outcome = isRefused ? 'request refused' : 'request answered';
    const message = reply === undefined ? 'client gone' : outcome;
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

  #failureReply(error: unknown, { requestId }: Exchange): HttpReply {
    const { errors } = this.#options;
    try {
      return errors.ofFailure(error instanceof HttpFailure ? error : internal(error), requestId);
    } catch (cause) {
      return errors.ofFailure(internal(cause), requestId);
    }
  }

  readonly onClientError = (error: Error, socket: Duplex): void => {
    const { log } = this.#options;
    const failure = clientFailure(error);
    if (!socket.writable) {
      // A response may still be in transit, and destroying the socket would lose it; only a timeout does so.
      if (failure.reason === 'REQUEST_TIMED_OUT') socket.destroy();
      return;
    }
    const last = RequestQueue.latestOn(socket);
    if (last === undefined || last.done) {
      this.#refuseBytes(socket, failure);
    } else if (last.request.complete || last.response.headersSent) {
      endAfter(last.response, socket);
      log.debug({ requestId: last.requestId, ...last.observation.fields }, 'connection ends');
    } else if (isEndOfUpload(error)) {
      // Its client has left, as far as anybody can tell.
      socket.destroy();
    } else {
      const reply = this.#failureReply(failure, last);
      this.#finish(last, { ...reply, headers: { ...reply.headers, Connection: 'close' } });
    }
  };

  /** Responds to bytes that are not an HTTP request. */
  #refuseBytes(socket: Duplex, failure: HttpFailure): void {
    const { errors, log, mayLog, observer, requestIdOf } = this.#options;
    const observation = observer.begin({ method: '', headers: {} });
    const requestId = requestIdOf(undefined);
    const reply = errors.ofFailure(failure, requestId);
    writeClientError(socket, reply, requestId);
    const { status, reason } = reply;
    observation.end({ template: undefined, status, reason, requestId });
    if (mayLog('unauthenticated'))
      log.info({ requestId, status, reason, ...observation.fields }, 'request refused');
  }

  /** Responds to CONNECT. @param handler responds on the connection, which Node has released */
  refuseTunnel(request: IncomingMessage, handler: RequestListener): void {
    const { socket } = request;
    // Nothing else handles its errors.
    socket.on('error', () => undefined);
    const last = RequestQueue.latestOn(socket);
    if (last?.response.closed === false) {
      endAfter(last.response, socket);
      return;
    }
    const response = new ServerResponse(request);
    try {
      response.assignSocket(socket);
    } catch {
      // Another handler is still responding to an earlier request on this connection.
      socket.destroy();
      return;
    }
    endAfter(response, socket);
    handler(request, response);
  }
}
