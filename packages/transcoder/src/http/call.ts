import { isUint8Array } from 'node:util/types';
import type { Message } from '@bufbuild/protobuf';
import { hasCustomJsonRepresentation } from '@bufbuild/protobuf/wkt';
import type { ErrorReplies } from '../failures/error-reply.js';
import {
  type HttpFailure,
  internal,
  malformed,
  methodNotAllowed,
  overloaded,
  requestStreamUnsupported,
} from '../failures/failure.js';
import { isObject, type SentJson } from '../fields/json-value.js';
import type { HttpReply } from '../http-reply.js';
import { JsonOutput, type UnknownType } from '../json/json-output.js';
import { parseJsonText } from '../json/json-text.js';
import { httpBodyJson, isHttpBodyJson, setData } from '../message/http-body.js';
import { RequestMessages } from '../message/request-message.js';
import type { OptionsInForce } from '../options.js';
import type { FoundBinding } from '../template/binding-table.js';
import type { Binding, BodyBinding } from '../template/binding.js';
import type { Contract } from '../template/contract.js';
import { successRules } from '../template/success-rules.js';
import { credentialOf, type UnaryReply, type Upstream } from '../upstream.js';
import {
  ArrivingBody,
  type PendingBody,
  isJsonType,
  NO_BYTES,
  requireDecoded,
  requireJsonType,
  Uploads,
} from './body.js';
import { type Exchange, isOk } from './exchange.js';
import type { Answer } from './exchanges.js';
import { hasBody, requestTimeoutMs } from './head.js';
import { type OpenStream, OpenStreams, StreamedReply } from './streams.js';
import { type CacheFigures, SuccessReplies } from './reply.js';

interface DispatcherOptions extends OptionsInForce {
  readonly upstream: Upstream;
  /** Called with the type URL of each Any whose type the contract lacks. */
  readonly unknownType: UnknownType;
}

/** The parts that all calls share. */
interface CallParts extends DispatcherOptions {
  readonly errors: ErrorReplies;
  readonly requests: RequestMessages;
  readonly successes: SuccessReplies;
  readonly uploads: Uploads;
}

/** Serves HTTP requests with gRPC calls, according to the `google.api.http` annotations of a contract. */
export class RequestDispatcher {
  readonly #contract: Contract;
  /** The template of each binding, under the base path. */
  readonly #templates: ReadonlyMap<Binding, string>;
  readonly #parts: CallParts;
  readonly #streams: OpenStreams;
  /** The number of requests for unary methods that have no reply yet. */
  #underWay = 0;

  constructor(contract: Contract, errors: ErrorReplies, options: DispatcherOptions) {
    const { bindings, registry } = contract;
    const { basePath, json, lenient, maxRequests, now } = options;
    this.#contract = contract;
    this.#streams = new OpenStreams(options.maxStreams);
    this.#templates = new Map(bindings.map((each) => [each, basePath + each.template.source]));
    this.#parts = {
      ...options,
      errors,
      requests: new RequestMessages(registry, { ...json, lenient }, options.ignoredParameters),
      successes: new SuccessReplies(
        options.standardMethods ? successRules(bindings) : new Map(),
        new JsonOutput(registry, json, options.unknownType),
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
      return this.#counted(() => new TranscodedCall(this.#parts, exchange, found).answer());
    const open = this.#streams.open(exchange);
    return new TranscodedCall(this.#parts, exchange, found, open).answer();
  }

  get replyCache(): CacheFigures {
    return this.#parts.successes.cacheFigures;
  }

  /** Stops waiting for request bodies and aborts all streams, those in progress and later ones. */
  close(): void {
    this.#parts.uploads.end();
    this.#streams.end();
  }

  readonly #leave = (): void => {
    this.#underWay -= 1;
  };

  /** @throws HttpFailure `OVERLOADED` */
  #counted(answer: () => HttpReply | Promise<HttpReply>): HttpReply | Promise<HttpReply> {
    const { maxRequests } = this.#parts;
    if (this.#underWay >= maxRequests) throw overloaded(`It has ${maxRequests} calls under way.`);
    this.#underWay += 1;
    let reply: HttpReply | Promise<HttpReply> | undefined;
    try {
      reply = answer();
    } finally {
      if (reply instanceof Promise) void reply.then(this.#leave, this.#leave);
      else this.#leave();
    }
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

/** A request for a method of the contract, before it becomes a call. */
class TranscodedCall implements PendingBody {
  readonly #parts: CallParts;
  readonly #exchange: Exchange;
  readonly #found: FoundBinding;
  /** The open stream, if the method is a streaming method. */
  readonly #open: OpenStream | undefined;
  readonly #head;
  /** Why the headers cannot be forwarded; undefined if they can. */
  readonly #unfit: HttpFailure | undefined;
  /** The client's time limit, in milliseconds. */
  #timeoutMs = Infinity;
  /** The answer of the guard, which is asked only when needed, and at most once. */
  #refusal: Promise<HttpReply | undefined> | undefined;

  constructor(parts: CallParts, exchange: Exchange, found: FoundBinding, open?: OpenStream) {
    const { deadlineMs, forwarding } = parts;
    const { sent, requestId, started, observation } = exchange;
    const { metadata, refusal } = forwarding.metadata(sent, requestId, observation.metadata);
    this.#parts = parts;
    this.#exchange = exchange;
    this.#found = found;
    this.#open = open;
    this.#head = {
      path: found.binding.callPath,
      metadata,
      deadline: started + deadlineMs,
      cancellation: open ?? exchange,
    };
    this.#unfit = refusal;
  }

  get caller(): string | undefined {
    return credentialOf(this.#head);
  }

  refusal(): Promise<HttpReply | undefined> {
    return (this.#refusal ??= this.#askGuard());
  }

  async refusalOr(failure: unknown): Promise<HttpReply> {
    const refusal = await this.refusal();
    if (refusal === undefined) throw failure;
    return refusal;
  }

  async #askGuard(): Promise<HttpReply | undefined> {
    const { guard } = this.#parts;
    if (guard === undefined) return undefined;
    const verdict = await guard(this.#head);
    this.#exchange.recordCaller(verdict);
    return isOk(verdict) ? undefined : this.#failed(verdict);
  }

  answer(): HttpReply | Promise<HttpReply> {
    const { deadlineMs, lenient, maxBodyBytes, successes } = this.#parts;
    const { request, started } = this.#exchange;
    const { headers } = request;
    try {
      if (this.#unfit !== undefined) throw this.#unfit;
      successes.requirePrecondition(this.#found.binding, headers);
      this.#timeoutMs = requestTimeoutMs(headers, lenient);
      this.#head.deadline = started + Math.min(this.#timeoutMs, deadlineMs);
      requireDecoded(request);
    } catch (failure) {
      return this.refusalOr(failure);
    }
    return hasBody(headers)
      ? this.#callLater(new ArrivingBody(request, maxBodyBytes))
      : this.#callWith(NO_BYTES);
  }

  async #callLater(body: ArrivingBody): Promise<HttpReply> {
    const { deadline } = this.#head;
    const received = await this.#parts.uploads.wait(body, deadline, this, this.#exchange);
    return isUint8Array(received) ? this.#callWith(received) : received;
  }

  #callWith(body: Uint8Array): HttpReply | Promise<HttpReply> {
    const { lenient, upstream, requests } = this.#parts;
    const { binding, segments } = this.#found;
    const { path, metadata, deadline, cancellation } = this.#head;
    const { query } = this.#exchange.target;
    let message: Message;
    let bytes: Uint8Array;
    try {
      const isFile = binding.takesBytes && !(lenient && isEnvelope(this.#exchange, body));
      const json = isFile
        ? httpBodyJson(this.#exchange.request.headers['content-type'])
        : bodyJson(this.#parts, binding, this.#exchange, body);
      message = requests.read(binding, { segments, query, body: json });
      if (isFile) setData(binding, message, body);
      bytes = requests.encode(binding, message);
    } catch (failure) {
      return this.refusalOr(failure);
    }
    if (this.#exchange.answeredByOthers) throw internal(new Error('Other code has responded.'));
    if (this.#open !== undefined) return this.#streamed(this.#open, bytes);
    const reply = upstream.unary({ path, message: bytes, metadata, deadline, cancellation });
    if (!(reply instanceof Promise)) return this.#reply(message, reply);
    return reply.then((later) => this.#reply(message, later));
  }

  #streamed(open: OpenStream, message: Uint8Array): Promise<HttpReply> {
    const { errors, events, lenient, now, streamMs, successes, upstream } = this.#parts;
    const { binding } = this.#found;
    const { headers } = this.#exchange.request;
    const deadline = this.#exchange.started + Math.min(this.#timeoutMs, streamMs);
    // Streaming methods have bindings only if the upstream has `serverStream`.
    const { serverStream } = upstream as Required<Upstream>;
    const stream = serverStream.call(upstream, { ...this.#head, message, deadline });
    open.limit(Math.max(0, deadline - now()));
    const format = successes.format(binding, headers.accept, { lenient, events });
    const onHeaders = (reply: UnaryReply): void => {
      this.#takeHeaders(reply);
    };
    return new StreamedReply(stream, { exchange: this.#exchange, open, format, errors, onHeaders }).reply();
  }

  #takeHeaders(reply: UnaryReply): void {
    this.#exchange.recordCaller(reply);
    this.#parts.replyHeaders.addTo(this.#exchange.response, reply);
  }

  #reply(message: Message, reply: UnaryReply): HttpReply {
    this.#takeHeaders(reply);
    if (!isOk(reply)) return this.#failed(reply);
    const { headers } = this.#exchange.request;
    return this.#parts.successes.reply(this.#found.binding, message, reply.message, headers);
  }

  #failed(reply: UnaryReply): HttpReply {
    return this.#parts.errors.ofUpstream(reply, this.#exchange.requestId);
  }
}

/** Whether a body for a `google.api.HttpBody` is its JSON form, which grpc-gateway takes in place of the bytes. */
function isEnvelope(exchange: Exchange, bytes: Uint8Array): boolean {
  return (!exchange.sent.has('content-type') || isJsonType(exchange)) && isHttpBodyJson(bytes);
}

function bodyJson(
  { lenient }: CallParts,
  binding: Binding,
  exchange: Exchange,
  bytes: Uint8Array,
): SentJson | undefined {
  const { method, body } = binding;
  const { input: message } = method;
  if (bytes.length === 0) {
    // An empty body is an empty message, unless the message has a JSON form of its own.
    if (body === undefined || (body === '*' && !hasCustomJsonRepresentation(message))) return undefined;
    if (lenient && isPlainMessage(body)) return {};
    throw malformed('The request has no body; this method takes one.');
  }
  if (body === undefined && !lenient) throw bodyUnwanted();
  if (!lenient) requireJsonType(exchange);
  const json = parseJsonText(bytes);
  if (body !== undefined) return json;
  if (isObject(json) && Object.keys(json).length === 0) return undefined;
  throw bodyUnwanted();
}

/** Whether the body is a message field whose JSON form is an object of its fields. */
function isPlainMessage(body: BodyBinding): boolean {
  return (
    typeof body === 'object' && body.fieldKind === 'message' && !hasCustomJsonRepresentation(body.message)
  );
}

function bodyUnwanted(): HttpFailure {
  return malformed('The request has a body; this method takes none.');
}
