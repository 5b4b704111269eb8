import type { ErrorReplies } from '../failures/error-reply.js';
import { methodNotAllowed, overloaded, requestStreamUnsupported } from '../failures/failure.js';
import type { HttpReply } from '../http-reply.js';
import { JsonOutput } from '../json/json-output.js';
import { RequestMessages } from '../message/request-message.js';
import type { FoundBinding } from '../template/binding-table.js';
import type { Binding } from '../template/binding.js';
import type { Contract } from '../template/contract.js';
import { successRules } from '../template/success-rules.js';
import { type CallParts, type CallSettings, TranscodedCall } from './call.js';
import type { Exchange } from './exchange.js';
import { OpenStreams } from './open-streams.js';
import type { Answer } from './responder.js';
import type { CacheFigures } from './reply-cache.js';
import { SuccessReplies } from './reply.js';
import { Uploads } from './uploads.js';

/** Serves HTTP requests with gRPC calls, according to the `google.api.http` annotations of a contract. */
export class RequestDispatcher {
  readonly #contract: Contract;
  /** The template of each binding, under the base path. */
  readonly #templates: ReadonlyMap<Binding, string>;
  readonly #parts: CallParts;
  readonly #streams: OpenStreams;
  /** The number of requests for unary methods that have no reply yet. */
  #underWay = 0;

  constructor(contract: Contract, errors: ErrorReplies, options: CallSettings) {
    const { bindings, registry } = contract;
    const { basePath, json, lenient, maxRequests, now } = options;
    this.#contract = contract;
    this.#streams = new OpenStreams(options.maxStreams);
    this.#templates = new Map(bindings.map((binding) => [binding, basePath + binding.template.source]));
    this.#parts = {
      ...options,
      errors,
      requests: new RequestMessages(registry, { ...json, lenient }, options.ignoredParameters),
      successes: new SuccessReplies(
        options.standardMethods ? successRules(bindings) : new Map(),
        new JsonOutput(registry, json, options.reportUnknownType),
        basePath,
        options.replyCacheBytes,
      ),
      uploads: new Uploads(now, maxRequests),
    };
  }

  /**
   * What answers a request; undefined if no binding has its path. CONNECT and `OPTIONS *` target the server as a whole
   * (RFC 9112 3.2.3 and 3.2.4).
   */
  answerFor(verb: string, path: string): Answer | undefined {
    const { table, requestStreams } = this.#contract;
    if (verb === 'CONNECT' || (verb === 'OPTIONS' && path === '*'))
      return (exchange) => otherVerb(exchange, table.verbs());

    const { basePath } = this.#parts;
    if (!path.startsWith(`${basePath}/`)) return undefined;
    const inContract = path.slice(basePath.length);

    const found = table.find(verb, inContract);
    if (found.outcome === 'found') return (exchange) => this.#answer(exchange, found);
    if (requestStreams.find(verb, inContract).outcome === 'found') return refuseStream;
    if (found.outcome === 'unknown path') return undefined;
    return (exchange) => {
      exchange.template = this.#templates.get(found.binding);
      return otherVerb(exchange, found.allowed);
    };
  }

  /** @throws HttpFailure if no call is made, for a reason that any client may know */
  #answer(exchange: Exchange, found: FoundBinding): HttpReply | Promise<HttpReply> {
    exchange.template = this.#templates.get(found.binding);
    if (found.binding.method.methodKind === 'unary')
      return this.#answerUnary(() => new TranscodedCall(this.#parts, exchange, found).answer());

    const openStream = this.#streams.start(exchange);
    return new TranscodedCall(this.#parts, exchange, found, openStream).answer();
  }

  get replyCache(): CacheFigures {
    return this.#parts.successes.cacheFigures;
  }

  /** Stops waiting for request bodies and aborts all streams, those in progress and later ones. */
  close(): void {
    this.#parts.uploads.end();
    this.#streams.close();
  }

  /**
   * Answers a request for a unary method, which is under way until it has its reply.
   *
   * @throws HttpFailure `OVERLOADED`
   */
  #answerUnary(answer: () => HttpReply | Promise<HttpReply>): HttpReply | Promise<HttpReply> {
    const { maxRequests } = this.#parts;
    if (this.#underWay >= maxRequests) throw overloaded(`It has ${maxRequests} calls under way.`);

    this.#underWay += 1;
    const uncount = (): void => {
      this.#underWay -= 1;
    };
    let reply: HttpReply | Promise<HttpReply>;
    try {
      reply = answer();
    } catch (failure) {
      uncount();
      throw failure;
    }
    if (reply instanceof Promise) void reply.then(uncount, uncount);
    else uncount();
    return reply;
  }
}

const refuseStream: Answer = () => {
  throw requestStreamUnsupported();
};

/** @throws HttpFailure `METHOD_NOT_ALLOWED` unless the request asks for the methods that the path supports */
function otherVerb({ verb }: Exchange, allowed: readonly string[]): HttpReply {
  const headers = { Allow: allowed.join(', ') };
  if (verb === 'OPTIONS') return { status: 204, headers };
  throw methodNotAllowed(headers);
}
