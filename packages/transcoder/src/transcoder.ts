import { type IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { ErrorReplies } from './failures/error-reply.js';
import { Failure, internal } from './failures/failure.js';
import { clientFailure, endAfter, writeClientError } from './http/client-error.js';
import { RequestQueues } from './http/request-queue.js';
import { Exchange } from './http/exchange.js';
import { finishExchanges } from './http/finished-exchange.js';
import { requireWellFormedHead } from './http/request-head.js';
import { requestLines } from './http/request-line.js';
import { Transcoding } from './http/transcoding.js';
import type { HttpReply } from './http-reply.js';
import { joinObservers } from './request-observer.js';
import { optionsInForce, type TranscoderOptions } from './options.js';
import { readContract } from './template/contract.js';

/** Serves the methods of a contract over HTTP and JSON. */
export interface Transcoder {
  /**
   * For the event `request` of a `node:http` server, or as middleware of Express 5. It answers every request; with
   * `next`, a request for an unknown path is passed on. A request without `Host` arrives here only if the server was
   * created with `requireHostHeader: false`; otherwise Node refuses it in its own format.
   */
  readonly handler: (
    request: IncomingMessage,
    response: ServerResponse,
    next?: (error?: unknown) => void,
  ) => void;
  /**
   * For the event `checkContinue`: like `handler`, but a client that waits for 100 before it sends its body receives it
   * once the guard has admitted the client. Without this listener, Node itself sends 100 to every client.
   */
  readonly onCheckContinue: Transcoder['handler'];
  /** For the event `clientError`: answers input that is not HTTP in the shape of all other errors. */
  readonly onClientError: (error: Error, socket: Duplex) => void;
  /** For the event `connect`: refuses a tunnel (RFC 9110 9.3.6). Otherwise Node would end the connection silently. */
  readonly onConnect: (request: IncomingMessage) => void;
  /**
   * Answers a request for a resource outside the contract, with the request id, log line and error shape of all others.
   * Anything that `answer` throws becomes an error: a `Failure` as it is, anything else 500 with a fixed text.
   */
  readonly respond: (request: IncomingMessage, response: ServerResponse, answer: Answer) => void;
  /**
   * For a server that is closing: answers requests whose bodies are still arriving with 503 `SHUTTING_DOWN`, and also
   * later ones that do not arrive complete or ask for a stream. Streams end with the same error, and within a second.
   * All others go on.
   */
  readonly close: () => void;
  /** A sentence for each reason why bindings of a method are not served, with the option `unsupported: 'skip'`. */
  readonly skipped: readonly string[];
}

/** Finds the reply of an exchange, now or later. */
export type Answer = (exchange: Exchange) => HttpReply | Promise<HttpReply>;

/** How long bytes that a client still sends after its response are dropped, in milliseconds. */
const LINGER_MS = 500;

/**
 * Creates a transcoder. It translates HTTP and JSON to gRPC calls to the upstream, according to the
 * `google.api.http` annotations of the contract. Every request is answered with a status and, if that is an error, with
 * `{"error":{code, status, message, details}}` (AIP-193).
 *
 * @throws Error with one sentence, if the base path or a header is invalid or the contract cannot be served.
 */
export function createTranscoder(given: TranscoderOptions): Transcoder {
  const options = optionsInForce(given);
  const { log, mayLog, now, requestIdOf, write } = options;
  const serverStreams = options.upstream.serverStream !== undefined;
  const contract = readContract(options.descriptorSet, { ...options, serverStreams });
  for (const reason of contract.skipped) log.warn({ reason }, 'method skipped');
  const errors = new ErrorReplies({ ...contract, realm: options.realm ?? contract.domain });
  const transcoding = new Transcoding(contract, errors, options);
  const record = requestLines(options);
  const observer = joinObservers(options.observers);
  const queues = new RequestQueues(options.maxRequests);
  let ending = false;

  const failed = (error: unknown, { requestId }: Exchange): HttpReply =>
    errors.ofFailure(error instanceof Failure ? error : internal(error), requestId);

  const lingerMs = (): number => (ending ? 0 : LINGER_MS);
  const finish = finishExchanges({ log, mayLog, record, failed, lingerMs });

  function respond(
    request: IncomingMessage,
    response: ServerResponse,
    answer: Answer,
    awaitsContinue = false,
  ): void {
    const id = request.headers['x-request-id'];
    const requestId = requestIdOf(typeof id === 'string' ? id : undefined);
    const queue = queues.of(request.socket);
    if (queue.full) {
      if (!request.socket.destroyed) log.debug({ requestId }, 'connection ends');
      request.socket.destroy();
      return;
    }
    const observation = observer.begin({ method: String(request.method), headers: request.headers });
    const exchange = new Exchange(request, response, requestId, now(), awaitsContinue, observation);
    queue.begin(exchange);
    const finishWith = (reply: HttpReply): void => {
      write(() => {
        finish(exchange, reply);
      });
    };
    let reply: HttpReply | Promise<HttpReply>;
    try {
      requireWellFormedHead(request, exchange.url);
      reply = answer(exchange);
    } catch (error) {
      reply = failed(error, exchange);
    }
    if (reply instanceof Promise) {
      void reply.catch((error: unknown) => failed(error, exchange)).then(finishWith);
    } else if (exchange.partial) {
      // Node has yet to read the bytes that arrived with the head.
      setImmediate(finishWith, reply);
    } else {
      finishWith(reply);
    }
  }

  const transcode =
    (awaitsContinue: boolean): Transcoder['handler'] =>
    (request, response, next) => {
      const lookup = transcoding.find(request);
      if (next !== undefined && lookup.found.outcome === 'unknown path') next();
      else respond(request, response, (exchange) => transcoding.answer(exchange, lookup), awaitsContinue);
    };
  const handler = transcode(false);

  return {
    handler,
    onCheckContinue: transcode(true),
    skipped: contract.skipped,
    respond: (request, response, answer) => {
      respond(request, response, answer);
    },
    close: () => {
      ending = true;
      transcoding.close();
    },
    onClientError(error, socket) {
      const failure = clientFailure(error);
      if (!socket.writable) {
        // An answer may still be on its way, which an abrupt end would lose; only a time limit ends it abruptly.
        if (failure.reason === 'REQUEST_TIMED_OUT') socket.destroy();
        return;
      }
      const last = queues.latestOn(socket);
      if (last === undefined || last.over) {
        const observation = observer.begin({ method: '', headers: {} });
        const requestId = requestIdOf(undefined);
        const reply = errors.ofFailure(failure, requestId);
        writeClientError(socket, reply, requestId);
        const { status, reason } = reply;
        observation.end({ template: undefined, status, reason, requestId });
        if (mayLog('unauthenticated')) {
          const { fields } = observation;
          log.info({ requestId, status, reason, ...fields }, 'request answered');
        }
      } else if (last.request.complete || last.response.headersSent) {
        endAfter(last.response, socket);
        log.debug({ requestId: last.requestId, ...last.observation.fields }, 'connection ends');
      } else {
        const reply = failed(failure, last);
        finish(last, { ...reply, headers: { ...reply.headers, Connection: 'close' } });
      }
    },
    onConnect(request) {
      const { socket } = request;
      // Node has released the connection, so nothing else handles its errors.
      socket.on('error', ignore);
      const last = queues.latestOn(socket);
      if (last?.response.closed === false) {
        endAfter(last.response, socket);
        return;
      }
      const response = new ServerResponse(request);
      try {
        response.assignSocket(socket);
      } catch {
        // Another layer still holds an earlier request of this connection.
        socket.destroy();
        return;
      }
      endAfter(response, socket);
      handler(request, response);
    },
  };
}

const ignore = (): void => undefined;
