import { toBinary, type JsonValue, type Message } from '@bufbuild/protobuf';
import { type Metadata, status } from '@grpc/grpc-js';
import type { Binding } from './template/binding.js';
import { BindingTable, type FoundBinding, type Lookup } from './template/binding-table.js';
import type { Contract } from './template/contract.js';
import type { ErrorReplies } from './failures/error-reply.js';
import type { Exchange } from './http/exchange.js';
import { malformed, methodNotAllowed, pathUnknown } from './failures/failure.js';
import { JsonOutput } from './json/json-output.js';
import { parseJsonText } from './json/json-text.js';
import { placeOf } from './fields/message-fields.js';
import type { Reply } from './http-reply.js';
import { readBody, requireJsonType } from './http/request-body.js';
import { requestTimeoutMs, requireFitHeaders } from './http/request-headers.js';
import { RequestMessages } from './message/request-message.js';
import { requestTarget } from './http/request-target.js';
import { successRules } from './template/standard-method.js';
import { SuccessReplies } from './http/success-reply.js';
import type { UnaryReply, Upstream } from './upstream.js';

/** What a transcoder works with. */
export interface TranscoderOptions {
  readonly contract: Contract;
  readonly upstream: Upstream;
  readonly errors: ErrorReplies;
  /** Prefix of all paths; empty for none. */
  readonly basePath: string;
  /** The longest time of one call, in milliseconds. */
  readonly deadlineMs: number;
  /** The clock, in milliseconds since the epoch. */
  readonly now: () => number;
}

/** Metadata that makes the server end a call with `OK` once the caller is let through. */
const GUARD_ONLY = 'x-guard-only';
const EMPTY_MESSAGE = new Uint8Array();

/** Answers HTTP requests by unary gRPC calls, as the `google.api.http` annotations of a contract say. */
export class Transcoder {
  readonly #options: TranscoderOptions;
  readonly #table: BindingTable;
  readonly #requests: RequestMessages;
  readonly #successes: SuccessReplies;

  /** @throws Error with one sentence, where two bindings of the contract clash. */
  constructor(options: TranscoderOptions) {
    const { contract, basePath } = options;
    this.#options = options;
    this.#table = new BindingTable(contract.bindings);
    this.#requests = new RequestMessages(contract.registry);
    this.#successes = new SuccessReplies(
      successRules(contract.bindings, contract.options),
      new JsonOutput(contract.registry, contract.options),
      basePath,
    );
  }

  /** @throws Failure where the gateway itself ends the request. */
  answer(exchange: Exchange): Reply | Promise<Reply> {
    const { path, query } = requestTarget(exchange.request.url);
    const found = this.#find(exchange.verb, path);
    if (found.outcome === 'found') return this.#call(exchange, found, query);
    if (found.outcome === 'unknown path') throw pathUnknown();
    const headers = { Allow: found.allowed.join(', ') };
    if (exchange.verb === 'OPTIONS') return { status: 204, headers };
    throw methodNotAllowed(headers);
  }

  #find(verb: string, path: string): Lookup {
    const { basePath } = this.#options;
    if (!path.startsWith(`${basePath}/`)) return { outcome: 'unknown path' };
    return this.#table.find(verb, path.slice(basePath.length));
  }

  #call(exchange: Exchange, found: FoundBinding, query: string): Reply | Promise<Reply> {
    const { request, response } = exchange;
    let body: Uint8Array | Promise<Uint8Array>;
    try {
      requireFitHeaders(request.headers);
      body = readBody(request, response);
    } catch (failure) {
      return this.#refuse(exchange, found, failure);
    }
    if (!(body instanceof Promise)) return this.#callWith(exchange, found, query, body);
    return body.then(
      (bytes) => this.#callWith(exchange, found, query, bytes),
      (failure: unknown) => this.#refuse(exchange, found, failure),
    );
  }

  #callWith(
    exchange: Exchange,
    found: FoundBinding,
    query: string,
    body: Uint8Array,
  ): Reply | Promise<Reply> {
    const { headers } = exchange.request;
    const { binding, segments } = found;
    let message: Message;
    let timeoutMs: number;
    try {
      timeoutMs = requestTimeoutMs(headers, this.#options.deadlineMs);
      const json = bodyJson(binding, headers['content-type'], body);
      message = this.#requests.read(binding, { segments, query, body: json });
    } catch (failure) {
      return this.#refuse(exchange, found, failure);
    }
    const bytes = toBinary(binding.method.input, message);
    const reply = this.#unary(exchange, binding, bytes, timeoutMs);
    if (!(reply instanceof Promise)) return this.#reply(exchange, binding, message, reply);
    return reply.then((later) => this.#reply(exchange, binding, message, later));
  }

  #unary(
    exchange: Exchange,
    { callPath }: Binding,
    message: Uint8Array,
    timeoutMs: number,
    metadata: Metadata = exchange.metadata(),
  ): UnaryReply | Promise<UnaryReply> {
    const { upstream, now } = this.#options;
    const deadline = now() + timeoutMs;
    return upstream.unary({ path: callPath, message, metadata, deadline, cancellation: exchange });
  }

  #reply({ request, requestId }: Exchange, binding: Binding, message: Message, reply: UnaryReply): Reply {
    if (reply.code !== status.OK) return this.#options.errors.ofUpstream(reply, requestId);
    return this.#successes.reply(binding, message, reply.message, request.headers['if-none-match']);
  }

  /** A stranger learns nothing about the request: who may not call is told that and no more. */
  async #refuse(exchange: Exchange, { binding }: FoundBinding, failure: unknown): Promise<Reply> {
    const { deadlineMs, errors } = this.#options;
    const metadata = exchange.metadata();
    metadata.set(GUARD_ONLY, '1');
    const verdict = await this.#unary(exchange, binding, EMPTY_MESSAGE, deadlineMs, metadata);
    if (verdict.code !== status.OK) return errors.ofUpstream(verdict, exchange.requestId);
    throw failure;
  }
}

function bodyJson(
  { method, body }: Binding,
  contentType: string | undefined,
  bytes: Uint8Array,
): JsonValue | undefined {
  if (body === undefined) {
    if (bytes.length > 0) throw malformed('The request has a body; this method takes none.');
    return undefined;
  }
  if (bytes.length === 0) throw malformed('The request has no body; this method takes one.');
  requireJsonType(contentType);
  const prefix = body === '*' ? [] : [body.jsonName];
  return parseJsonText(bytes, (steps) => placeOf(method.input, [...prefix, ...steps]));
}
