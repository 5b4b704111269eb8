import { type IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { ErrorReplies } from './failures/error-reply.js';
import { HttpFailure, internal } from './failures/failure.js';
import {
  clientFailure,
  endAfter,
  isEndOfUpload,
  requireWellFormedHead,
  sentHeaders,
  writeClientError,
} from './http/head.js';
import { Transcoding } from './http/call.js';
import { Exchange } from './http/exchange.js';
import { finishExchanges } from './http/finish.js';
import { RequestQueues } from './http/request-queue.js';
import type { CacheFigures } from './http/reply.js';
import type { UnknownType } from './json/json-output.js';
import type { HttpReply } from './http-response.js';
import { joinObservers } from './request-observer.js';
import type { Given } from './option-kinds.js';
import { optionsInForce, type TranscoderOptions } from './options.js';
import { readContract } from './template/contract.js';

/** Serves the methods of a contract over HTTP and JSON. */
export interface Transcoder {
  /**
   * The listener for the event `request` of a `node:http` server, or middleware for Express 5, or for Fastify with its
   * raw request and response. It responds to every
   * request; with `next`, it passes on requests for unknown paths. Node itself refuses requests without `Host`, in its
   * own format, unless the server was created with `requireHostHeader: false`.
   */
  readonly handler: (request: IncomingMessage, response: ServerResponse, next?: () => void) => void;
  /**
   * The listener for the event `checkContinue`: like `handler`, but a client that waits for 100 before it sends its
   * body gets the 100 only after the guard has admitted the client. Without this listener, Node sends 100 to every such
   * client.
   */
  readonly onCheckContinue: Transcoder['handler'];
  /** The listener for the event `clientError`: responds to input that is not HTTP with an error in the usual format. */
  readonly onClientError: (error: Error, socket: Duplex) => void;
  /**
   * The listener for the event `connect`: refuses a tunnel (RFC 9110 9.3.6). Without it, Node closes the connection
   * without a response.
   */
  readonly onConnect: (request: IncomingMessage) => void;
  /**
   * Responds to a request for a resource outside the contract, with a request id, a log line and the usual error
   * format. An error that `answer` throws becomes the response: a `Failure` with its own status and message, anything
   * else as 500 with a fixed text.
   */
  readonly respond: (request: IncomingMessage, response: ServerResponse, answer: Answer) => void;
  /**
   * Prepares for the shutdown of the server. Requests whose bodies are still arriving get 503 `SHUTTING_DOWN`, and so
   * do later requests that do not arrive complete or are for a stream. Open streams end with the same error within a
   * second. All other requests are served as before.
   */
  readonly close: () => void;
  /** Whether the server has identified the caller of the latest request on a connection. */
  readonly knowsCallerOn: (socket: Duplex) => boolean;
  /** The usage of the cache of replies: its look-ups so far, and its entries now; all zero without `replyCacheBytes`. */
  readonly replyCache: CacheFigures;
  /** One sentence for each reason why bindings were left out. Empty unless `unsupported` is `skip`. */
  readonly skipped: readonly string[];
}

/** Returns the response to a request. */
export type Answer = (exchange: Exchange) => HttpReply | Promise<HttpReply>;

/** How long bytes that arrive after the response are discarded, in milliseconds. */
const LINGER_MS = 500;

/** The maximum number of types that are reported as unknown: a server may pass on what its clients made up. */
const UNKNOWN_TYPES_MAX = 100;
/** The longest type URL in the log, in characters. */
const TYPE_URL_MAX = 128;

/** Creates the function that reports, once for each type, that replies have an Any of a type that the contract lacks. */
function unknownTypes({
  log,
  onUnknownType,
}: Required<Given<Pick<TranscoderOptions, 'log' | 'onUnknownType'>>>): UnknownType {
  const known = new Set<string>();
  return (typeUrl) => {
    const type = typeUrl.slice(0, TYPE_URL_MAX);
    if (known.has(type) || known.size === UNKNOWN_TYPES_MAX) return;
    known.add(type);
    log.warn({ type }, 'type unknown, its content is base64');
    onUnknownType(typeUrl);
  };
}

/**
 * Creates a transcoder, which translates HTTP requests with JSON to gRPC calls to the upstream, according to the
 * `google.api.http` annotations of the contract.
 *
 * Errors have the body `{"error":{code, status, message, details}}` (AIP-193).
 *
 * @throws Error with a one-sentence message if an option is unknown, missing or of another kind, the base path or a header
 *   is invalid, or the contract cannot be served.
 */
export function createTranscoder(given: TranscoderOptions): Transcoder {
  const { options, forwarding, replyHeaders } = optionsInForce(given, ['descriptorSet', 'upstream']);
  const { log, mayLog, now, requestIdOf, write } = options;
  const serverStreams = options.upstream.serverStream !== undefined;
  const contract = readContract(options.descriptorSet, { ...options, serverStreams });
  for (const reason of contract.skipped) log.warn({ reason }, 'method skipped');
  const unknownType = unknownTypes(options);
  const errors = new ErrorReplies({ ...contract, realm: options.realm ?? contract.domain, unknownType });
  const transcoding = new Transcoding(contract, errors, {
    ...options,
    forwarding,
    replyHeaders,
    unknownType,
  });
  const observer = joinObservers(options.observers);
  const queues = new RequestQueues(options.maxRequests);
  let ending = false;

  const failed = (error: unknown, { requestId }: Exchange): HttpReply =>
    errors.ofFailure(error instanceof HttpFailure ? error : internal(error), requestId);

  const lingerMs = (): number => (ending ? 0 : LINGER_MS);
  const finish = finishExchanges({ ...options, failed, lingerMs });

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
    const sent = sentHeaders(request.rawHeaders, forwarding.names);
    const exchange = new Exchange(request, response, sent, requestId, now(), awaitsContinue, observation);
    queue.begin(exchange);
    const finishWith = (reply: HttpReply): void => {
      write(() => {
        finish(exchange, reply);
      });
    };
    let reply: HttpReply | Promise<HttpReply>;
    try {
      requireWellFormedHead(request, exchange.url, sent);
      reply = answer(exchange);
    } catch (error) {
      reply = failed(error, exchange);
    }
    if (reply instanceof Promise) {
      void reply.catch((error: unknown) => failed(error, exchange)).then(finishWith);
    } else if (exchange.partial) {
      // Node has not yet read the bytes that arrived with the head.
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
    get replyCache() {
      return transcoding.replyCache;
    },
    knowsCallerOn: (socket) => queues.latestOn(socket)?.callerKnown === true,
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
        // A response may still be in transit, and destroying the socket would lose it; only a timeout does so.
        if (failure.reason === 'REQUEST_TIMED_OUT') socket.destroy();
        return;
      }
      const last = queues.latestOn(socket);
      if (last === undefined || last.done) {
        const observation = observer.begin({ method: '', headers: {} });
        const requestId = requestIdOf(undefined);
        const reply = errors.ofFailure(failure, requestId);
        writeClientError(socket, reply, requestId);
        const { status, reason } = reply;
        observation.end({ template: undefined, status, reason, requestId });
        if (mayLog('unauthenticated')) {
          const { fields } = observation;
          log.info({ requestId, status, reason, ...fields }, 'request refused');
        }
      } else if (last.request.complete || last.response.headersSent) {
        endAfter(last.response, socket);
        log.debug({ requestId: last.requestId, ...last.observation.fields }, 'connection ends');
      } else if (isEndOfUpload(error)) {
        // Its client has left, as far as anybody can tell.
        socket.destroy();
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
        // Another handler is still responding to an earlier request on this connection.
        socket.destroy();
        return;
      }
      endAfter(response, socket);
      handler(request, response);
    },
  };
}

const ignore = (): void => undefined;
