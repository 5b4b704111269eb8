import { isUint8Array } from 'node:util/types';
import type { Message } from '@bufbuild/protobuf';
import { hasCustomJsonRepresentation } from '@bufbuild/protobuf/wkt';
import type { ErrorReplies } from '../failures/error-reply.js';
import { type HttpFailure, internal, malformed } from '../failures/failure.js';
import { isObject, type SentJson } from '../fields/json-value.js';
import type { HttpReply } from '../http-reply.js';
import type { UnknownType } from '../json/json-output.js';
import { parseJsonText } from '../json/json-text.js';
import { httpBodyJson, isHttpBodyJson, setData } from '../message/http-body.js';
import type { RequestMessages } from '../message/request-message.js';
import type { OptionsInForce } from '../options.js';
import type { FoundBinding } from '../template/binding-table.js';
import type { Binding, BodyBinding } from '../template/binding.js';
import { credentialOf, type UnaryCall, type UnaryReply, type Upstream } from '../upstream.js';
import { ArrivingBody, NO_BYTES } from './body.js';
import { isJsonType, requireDecoded, requireJsonType } from './content-type.js';
import { type Exchange, isOk } from './exchange.js';
import { hasBody } from './head.js';
import type { SuccessReplies } from './reply.js';
import { requestTimeoutMs } from './request-timeout.js';
import type { OpenStream } from './open-streams.js';
import { StreamedReply } from './streamed-reply.js';
import type { PendingBody, Uploads } from './uploads.js';

/** The options of a transcoder that its calls follow. */
export interface CallOptions extends OptionsInForce {
  readonly upstream: Upstream;
  /** Called with the type URL of each Any whose type the contract lacks. */
  readonly unknownType: UnknownType;
}

/** The parts that all calls share. */
export interface CallParts extends CallOptions {
  readonly errors: ErrorReplies;
  readonly requests: RequestMessages;
  readonly successes: SuccessReplies;
  readonly uploads: Uploads;
}

/**
 * A request for a method of the contract, until it becomes a call.
 *
 * The guard is asked only about a request that cannot become a call, or whose body is late (`Uploads`), and at most
 * once: the server checks the credentials of every call itself, so a call to the guard before it would be a second call
 * for nothing. A client that the guard refuses gets the guard's reply, and learns nothing about what is wrong with its
 * request.
 */
export class TranscodedCall implements PendingBody {
  readonly #parts: CallParts;
  readonly #exchange: Exchange;
  readonly #found: FoundBinding;
  /** The open stream, if the method is a streaming method. */
  readonly #open: OpenStream | undefined;
  /** The call without its message, which the guard gets, too. `#readHead` shortens its deadline to the client's limit. */
  readonly #head: Omit<UnaryCall, 'message'> & { deadline: number };
  /** Why the headers cannot be forwarded; undefined if they can. */
  readonly #unfitHeader: HttpFailure | undefined;
  /** The client's time limit, in milliseconds. */
  #timeoutMs = Infinity;
  #guardReply: Promise<HttpReply | undefined> | undefined;

  constructor(parts: CallParts, exchange: Exchange, found: FoundBinding, open?: OpenStream) {
    const { deadlineMs, forwarding } = parts;
    const { sent, requestId, started, observation } = exchange;
    const { metadata, unfitHeader } = forwarding.metadata(sent, requestId, observation.metadata);
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
    this.#unfitHeader = unfitHeader;
  }

  get caller(): string | undefined {
    return credentialOf(this.#head);
  }

  /** The guard's refusal; undefined if it lets the client pass. */
  guardReply(): Promise<HttpReply | undefined> {
    return (this.#guardReply ??= this.#askGuard());
  }

  /**
   * The guard's refusal, which takes precedence over the failure.
   *
   * @throws the failure if the guard lets the client pass
   */
  async guardReplyOrThrow(failure: unknown): Promise<HttpReply> {
    const reply = await this.guardReply();
    if (reply === undefined) throw failure;
    return reply;
  }

  async #askGuard(): Promise<HttpReply | undefined> {
    const { guard } = this.#parts;
    if (guard === undefined) return undefined;

    const verdict = await guard(this.#head);
    this.#exchange.recordCaller(verdict);
    return isOk(verdict) ? undefined : this.#errorReply(verdict);
  }

  /**
   * Checks the head, waits for the body if there is one, and calls the upstream.
   *
   * @throws HttpFailure, or rejects with it, if the guard lets the client pass or other code has responded
   */
  answer(): HttpReply | Promise<HttpReply> {
    const { maxBodyBytes } = this.#parts;
    const { request } = this.#exchange;
    try {
      this.#readHead();
    } catch (failure) {
      return this.guardReplyOrThrow(failure);
    }

    return hasBody(request.headers)
      ? this.#callLater(new ArrivingBody(request, maxBodyBytes))
      : this.#callWith(NO_BYTES);
  }

  /** Checks the headers, and reads the client's time limit. @throws HttpFailure */
  #readHead(): void {
    const { deadlineMs, lenient, successes } = this.#parts;
    const { request, started } = this.#exchange;
    const { headers } = request;
    if (this.#unfitHeader !== undefined) throw this.#unfitHeader;
    successes.requirePrecondition(this.#found.binding, headers);

    this.#timeoutMs = requestTimeoutMs(headers, lenient);
    this.#head.deadline = started + Math.min(this.#timeoutMs, deadlineMs);
    requireDecoded(request);
  }

  async #callLater(body: ArrivingBody): Promise<HttpReply> {
    const { deadline } = this.#head;
    const received = await this.#parts.uploads.wait(body, deadline, this, this.#exchange);
    return isUint8Array(received) ? this.#callWith(received) : received;
  }

  #callWith(body: Uint8Array): HttpReply | Promise<HttpReply> {
    const { upstream } = this.#parts;
    let message: Message;
    let bytes: Uint8Array;
    try {
      message = this.#requestMessage(body);
      bytes = this.#parts.requests.encode(this.#found.binding, message);
    } catch (failure) {
      return this.guardReplyOrThrow(failure);
    }

    // Middleware in front, such as one that limits the time, may have responded in the meantime.
    if (this.#exchange.answeredByOthers) throw internal(new Error('Other code has responded.'));
    if (this.#open !== undefined) return this.#streamedReply(this.#open, bytes);

    const reply = upstream.unary({ ...this.#head, message: bytes });
    if (!(reply instanceof Promise)) return this.#httpReply(message, reply);
    return reply.then((later) => this.#httpReply(message, later));
  }

  /** The request message in path, query and body. @throws HttpFailure `REQUEST_MALFORMED` or `CONTENT_TYPE_UNSUPPORTED` */
  #requestMessage(body: Uint8Array): Message {
    const { lenient, requests } = this.#parts;
    const { binding, segments } = this.#found;
    const { query } = this.#exchange.target;
    // For a `google.api.HttpBody`, the body is its data, in any type of content: it is not read, but set afterwards.
    const isFile = binding.takesBytes && !(lenient && isEnvelope(this.#exchange, body));
    if (isFile) {
      const json = httpBodyJson(this.#exchange.request.headers['content-type']);
      const message = requests.read(binding, { segments, query, body: json });
      setData(binding, message, body);
      return message;
    }

    const json = bodyJson(this.#parts, binding, this.#exchange, body);
    return requests.read(binding, { segments, query, body: json });
  }

  #streamedReply(open: OpenStream, message: Uint8Array): Promise<HttpReply> {
    const { errors, events, lenient, now, streamMs, successes, upstream } = this.#parts;
    const { binding } = this.#found;
    const { headers } = this.#exchange.request;
    // In place of the limit on unary calls.
    const deadline = this.#exchange.started + Math.min(this.#timeoutMs, streamMs);
    // Streaming methods have bindings only if the upstream has `serverStream`.
    const { serverStream } = upstream as Required<Upstream>;
    const stream = serverStream.call(upstream, { ...this.#head, message, deadline });
    open.abortAfter(Math.max(0, deadline - now()));

    const format = successes.format(binding, headers.accept, { lenient, events });
    const onHeaders = (reply: UnaryReply): void => {
      this.#takeHeaders(reply);
    };
    return new StreamedReply(stream, {
      exchange: this.#exchange,
      openStream: open,
      format,
      errors,
      onHeaders,
    }).reply();
  }

  /** Uses what a reply says besides its message: about the caller, and for the headers of the response. */
  #takeHeaders(reply: UnaryReply): void {
    this.#exchange.recordCaller(reply);
    this.#parts.replyHeaders.addTo(this.#exchange.response, reply);
  }

  #httpReply(message: Message, reply: UnaryReply): HttpReply {
    this.#takeHeaders(reply);
    if (!isOk(reply)) return this.#errorReply(reply);

    const { headers } = this.#exchange.request;
    return this.#parts.successes.reply(this.#found.binding, message, reply.message, headers);
  }

  #errorReply(reply: UnaryReply): HttpReply {
    return this.#parts.errors.ofUpstream(reply, this.#exchange.requestId);
  }
}

/** Whether a body for a `google.api.HttpBody` is its JSON form, which grpc-gateway takes in place of the bytes. */
function isEnvelope(exchange: Exchange, bytes: Uint8Array): boolean {
  return (!exchange.sent.has('content-type') || isJsonType(exchange)) && isHttpBodyJson(bytes);
}

/**
 * The JSON value of a body; undefined for none.
 *
 * @throws HttpFailure `REQUEST_MALFORMED` or `CONTENT_TYPE_UNSUPPORTED`
 */
function bodyJson(
  { lenient }: CallParts,
  binding: Binding,
  exchange: Exchange,
  bytes: Uint8Array,
): SentJson | undefined {
  const { method, body } = binding;
  const { input } = method;
  if (bytes.length === 0) {
    if (body === undefined) return undefined;
    // No body stands for a message without fields. A Timestamp, or any other that is no object in JSON, must be given.
    if (body === '*' && !hasCustomJsonRepresentation(input)) return undefined;
    // grpc-gateway takes a missing body for an empty message.
    if (lenient && isPlainMessage(body)) return {};
    throw malformed('The request has no body; this method takes one.');
  }

  if (body === undefined && !lenient) throw bodyUnwanted();
  if (!lenient) requireJsonType(exchange);
  const json = parseJsonText(bytes);
  if (body !== undefined) return json;

  // With `lenient`, `{}` is no body.
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
