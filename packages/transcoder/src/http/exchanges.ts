import { type IncomingMessage, type RequestListener, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { ErrorReplies } from '../failures/error-reply.js';
import { HttpFailure, internal } from '../failures/failure.js';
import type { faultless } from '../hooks.js';
import type { HttpReply } from '../http-reply.js';
import { type Arriving, Exchange, type Pipelined, RequestQueue } from './exchange.js';
import {
  clientFailure,
  endAfter,
  isEndOfUpload,
  requestTarget,
  requireWellFormedHead,
  writeClientError,
} from './head.js';
import { Responder } from './response.js';

/** Returns the response to a request. */
export type Answer = (exchange: Exchange) => HttpReply | Promise<HttpReply>;

interface ExchangesOptions extends ReturnType<typeof faultless>, Arriving {
  readonly errors: ErrorReplies;
  readonly answeredLevel: 'info' | 'debug';
  readonly maxRequests: number;
}

/** The way of each request from its arrival to its response. */
export class Exchanges {
  readonly #options: ExchangesOptions;
  readonly #responder: Responder;
  readonly #pipelined: Pipelined;

  constructor(options: ExchangesOptions) {
    this.#options = options;
    this.#responder = new Responder({ ...options, failed: this.#failed });
    this.#pipelined = { count: 0, most: options.maxRequests };
  }

  close(): void {
    this.#responder.close();
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
        (given) => {
          this.#finish(exchange, given);
        },
        (error: unknown) => {
          this.#finish(exchange, this.#failed(error, exchange));
        },
      );
    } else if (exchange.partial) {
      // Node has not yet read the bytes that arrived with the head.
      setImmediate(() => {
        this.#finish(exchange, reply);
      });
    } else {
      this.#finish(exchange, reply);
    }
  }

  #reply(exchange: Exchange, answer: Answer): ReturnType<Answer> {
    try {
      if (exchange.answeredByOthers) throw new Error('Other code has responded.');
      requireWellFormedHead(exchange.request, exchange.target.url, exchange.sent);
      return answer(exchange);
    } catch (error) {
      return this.#failed(error, exchange);
    }
  }

  #finish(exchange: Exchange, reply: HttpReply): void {
    this.#options.write(() => {
      this.#responder.finish(exchange, reply);
    });
  }

  readonly #failed = (error: unknown, { requestId }: Exchange): HttpReply => {
    const { errors } = this.#options;
    try {
      return errors.ofFailure(error instanceof HttpFailure ? error : internal(error), requestId);
    } catch (cause) {
      return errors.ofFailure(internal(cause), requestId);
    }
  };

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
      const reply = this.#failed(failure, last);
      this.#responder.finish(last, { ...reply, headers: { ...reply.headers, Connection: 'close' } });
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
