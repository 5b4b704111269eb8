import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { ErrorReplies } from './failures/error-reply.js';
import { pathUnknown } from './failures/failure.js';
import { faultless, type Hooks } from './hooks.js';
import { RequestDispatcher } from './http/dispatcher.js';
import { RequestQueue } from './http/request-queue.js';
import { type Answer, Responder } from './http/responder.js';
import { requestTarget } from './http/head.js';
import type { CacheFigures } from './http/reply-cache.js';
import type { UnknownType } from './json/json-output.js';
import { optionsInForce, type TranscoderOptions } from './options.js';
import { readContract } from './template/contract.js';

/** Serves the methods of a contract over HTTP and JSON. */
export interface Transcoder {
  /**
   * The listener for the event `request` of a `node:http` server, or middleware for Express 5, or for Fastify with its
   * raw request and response. It responds to every request; with `next`, it passes on requests for unknown paths. Node
   * itself refuses requests without `Host`, in its own format, unless the server was created with
   * `requireHostHeader: false`.
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
  readonly isAuthenticated: (socket: Duplex) => boolean;
  /** The usage of the cache of replies: its look-ups so far, and its entries now; all zero without `replyCacheBytes`. */
  readonly replyCache: CacheFigures;
  /** One sentence for each reason why bindings were left out. Empty unless `unsupported` is `skip`. */
  readonly skipped: readonly string[];
}

const unknown: Answer = () => {
  throw pathUnknown();
};

/** The maximum number of types that are reported as unknown: a server may pass on what its clients made up. */
const UNKNOWN_TYPES_MAX = 100;
/** The longest type URL in the log, in characters. */
const TYPE_URL_MAX = 128;

/** Creates the function that reports, once for each type, that replies have an Any of a type that the contract lacks. */
function unknownTypeReporter({ log, onUnknownType }: Pick<Hooks, 'log' | 'onUnknownType'>): UnknownType {
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
export function createTranscoder(options: TranscoderOptions): Transcoder {
  const inForce = optionsInForce(options, ['descriptorSet', 'upstream']);
  const hooks = faultless(inForce);
  const { upstream } = options;
  const serverStreams = upstream.serverStream !== undefined;
  const contract = readContract(inForce.descriptorSet, { ...inForce, serverStreams });
  for (const reason of contract.skipped) hooks.log.warn({ reason }, 'method skipped');
  const reportUnknownType = unknownTypeReporter(hooks);
  const errors = new ErrorReplies({
    ...contract,
    realm: inForce.realm ?? contract.domain,
    reportUnknownType,
  });
  const settings = { ...inForce, upstream, now: hooks.now, reportUnknownType };
  const dispatcher = new RequestDispatcher(contract, errors, settings);
  const responder = new Responder({ ...inForce, ...hooks, errors, names: inForce.forwarding.headersToRead });
  const transcode =
    (awaitsContinue: boolean): Transcoder['handler'] =>
    (request, response, next) => {
      const target = requestTarget(request);
      const answer = dispatcher.answerFor(String(request.method), target.path);
      if (answer === undefined && next !== undefined) next();
      else responder.respond(request, response, answer ?? unknown, target, awaitsContinue);
    };
  const handler = transcode(false);
  return {
    handler,
    onCheckContinue: transcode(true),
    onClientError: responder.onClientError,
    onConnect: (request) => {
      responder.refuseTunnel(request, handler);
    },
    respond: (request, response, answer) => {
      responder.respond(request, response, answer);
    },
    close: () => {
      responder.close();
      dispatcher.close();
    },
    isAuthenticated: (socket) => RequestQueue.latestOn(socket)?.callerKnown === true,
    get replyCache() {
      return dispatcher.replyCache;
    },
    skipped: contract.skipped,
  };
}
