import type { IncomingMessage } from 'node:http';
import type { JsonValue, Message, Registry } from '@bufbuild/protobuf';
import { hasCustomJsonRepresentation } from '@bufbuild/protobuf/wkt';
import type { ErrorReplies } from '../failures/error-reply.js';
import { type Failure, malformed } from '../failures/failure.js';
import { isObject } from '../fields/text-value.js';
import { startOf } from '../fields/message-fields.js';
import type { HttpReply } from '../http-reply.js';
import { parseJsonText } from '../json/json-input.js';
import { httpBodyJson, setData } from '../message/http-body.js';
import type { RequestMessages } from '../message/request-message.js';
import { type Binding, type BodyBinding, takesBytes } from '../template/binding.js';
import type { FoundBinding } from '../template/binding-table.js';
import type { Guard, UnaryReply, Upstream } from '../upstream.js';
import { GuardVerdict, isOk, knowsCaller } from './guard-verdict.js';
import type { Exchange } from './exchange.js';
import type { OpenStream } from './open-streams.js';
import { receiveBody, requireDecoded, requireJsonType } from './request-body.js';
import {
  callMetadata,
  type ForwardedHeaders,
  requestTimeoutMs,
  requireFitHeaders,
} from './request-headers.js';
import { addHeaders, type ResponseHeaders } from './response-headers.js';
import { StreamedReply } from './streamed-reply.js';
import type { SuccessReplies } from './success-reply.js';
import type { Uploads } from './uploads.js';

/** The parts that all calls share. */
export interface CallParts {
  readonly upstream: Upstream;
  readonly guard: Guard | undefined;
  readonly deadlineMs: number;
  readonly streamMs: number;
  readonly now: () => number;
  readonly maxBodyBytes: number;
  readonly lenient: boolean;
  readonly forwardedHeaders: ForwardedHeaders;
  readonly responseHeaders: ResponseHeaders;
  readonly errors: ErrorReplies;
  readonly registry: Registry;
  readonly requests: RequestMessages;
  readonly successes: SuccessReplies;
  readonly uploads: Uploads;
}

/** A request for a method of the contract, before it becomes a call. */
export class RequestedCall {
  readonly #parts: CallParts;
  readonly #exchange: Exchange;
  readonly #found: FoundBinding;
  readonly #query: string;
  /** The open stream, if the method is a streaming method. */
  readonly #open: OpenStream | undefined;
  readonly #head;
  readonly #verdict: GuardVerdict;

  constructor(parts: CallParts, exchange: Exchange, found: FoundBinding, query: string, open?: OpenStream) {
    const { guard, deadlineMs, forwardedHeaders, errors } = parts;
    const { request, requestId, started, observation } = exchange;
    this.#parts = parts;
    this.#exchange = exchange;
    this.#found = found;
    this.#query = query;
    this.#open = open;
    this.#head = {
      path: found.binding.callPath,
      metadata: callMetadata(request, requestId, forwardedHeaders, observation.metadata),
      deadline: started + deadlineMs,
      cancellation: open ?? exchange,
    };
    this.#verdict = new GuardVerdict(exchange, this.#head, guard, errors);
  }

  answer(): HttpReply | Promise<HttpReply> {
    const { deadlineMs, forwardedHeaders, lenient, maxBodyBytes, successes } = this.#parts;
    const { request, started } = this.#exchange;
    const { headers } = request;
    try {
      requireFitHeaders(headers, forwardedHeaders);
      successes.requirePrecondition(this.#found.binding, headers);
      this.#head.deadline = started + requestTimeoutMs(headers, deadlineMs, lenient);
      requireDecoded(request);
    } catch (failure) {
      return this.#verdict.refuse(failure);
    }
    const body = receiveBody(request, maxBodyBytes);
    return body instanceof Promise ? this.#callLater(body) : this.#callWith(body);
  }

  async #callLater(body: Promise<Uint8Array>): Promise<HttpReply> {
    const { deadline } = this.#head;
    const received = await this.#parts.uploads.wait(body, deadline, this.#verdict, this.#exchange);
    return received instanceof Uint8Array ? this.#callWith(received) : received;
  }

  #callWith(body: Uint8Array): HttpReply | Promise<HttpReply> {
    const { upstream, requests } = this.#parts;
    const { binding, segments } = this.#found;
    const { path, metadata, deadline, cancellation } = this.#head;
    let message: Message;
    let bytes: Uint8Array;
    try {
      const json = bodyJson(this.#parts, binding, this.#exchange.request, body);
      message = requests.read(binding, { segments, query: this.#query, body: json });
      if (takesBytes(binding)) setData(binding, message, body);
      bytes = requests.encode(binding, message);
    } catch (failure) {
      return this.#verdict.refuse(failure);
    }
    if (this.#open !== undefined) return this.#streamed(this.#open, bytes);
    const reply = upstream.unary({ path, message: bytes, metadata, deadline, cancellation });
    if (!(reply instanceof Promise)) return this.#reply(message, reply);
    return reply.then((later) => this.#reply(message, later));
  }

  #streamed(open: OpenStream, message: Uint8Array): Promise<HttpReply> {
    const { errors, lenient, now, streamMs, successes, upstream } = this.#parts;
    const { binding } = this.#found;
    const { headers } = this.#exchange.request;
    const deadline = this.#exchange.started + requestTimeoutMs(headers, streamMs, lenient);
    // Streaming methods have bindings only if the upstream has `serverStream`.
    const { serverStream } = upstream as Required<Upstream>;
    const stream = serverStream.call(upstream, { ...this.#head, message, deadline });
    open.limit(Math.max(0, deadline - now()));
    const format = successes.format(binding, headers.accept, lenient);
    const heard = (reply: UnaryReply): void => {
      this.#heard(reply);
    };
    return new StreamedReply(stream, { exchange: this.#exchange, open, format, errors, heard }).reply();
  }

  #heard(reply: UnaryReply): void {
    const { responseHeaders } = this.#parts;
    this.#exchange.known = knowsCaller(reply);
    this.#exchange.fields = reply.fields;
    if (responseHeaders.size > 0) addHeaders(this.#exchange.response, responseHeaders, reply);
  }

  #reply(message: Message, reply: UnaryReply): HttpReply {
    const { errors, successes } = this.#parts;
    const { request, requestId } = this.#exchange;
    this.#heard(reply);
    return isOk(reply)
      ? successes.reply(this.#found.binding, message, reply.message, request.headers)
      : errors.ofUpstream(reply, requestId);
  }
}

function bodyJson(
  { registry, lenient }: CallParts,
  binding: Binding,
  request: IncomingMessage,
  bytes: Uint8Array,
): JsonValue | undefined {
  const { method, body } = binding;
  const { input: message } = method;
  if (takesBytes(binding)) return httpBodyJson(request.headers['content-type']);
  if (bytes.length === 0) {
    // An empty body is an empty message, unless the message has a JSON form of its own.
    if (body === undefined || (body === '*' && !hasCustomJsonRepresentation(message))) return undefined;
    if (lenient && isPlainMessage(body)) return {};
    throw malformed('The request has no body; this method takes one.');
  }
  if (body === undefined && !lenient) throw bodyUnwanted();
  requireJsonType(request, lenient);
  const json = parseJsonText(bytes, (value) =>
    typeof body === 'object'
      ? startOf(registry, { message, json: { [body.jsonName]: value } }).to(body.jsonName)
      : startOf(registry, { message, json: value }),
  );
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

function bodyUnwanted(): Failure {
  return malformed('The request has a body; this method takes none.');
}
