import type { IncomingMessage } from 'node:http';
import { toBinary, type JsonValue, type Message, type Registry } from '@bufbuild/protobuf';
import type { ErrorReplies } from '../failures/error-reply.js';
import { malformed, methodNotAllowed, pathUnknown } from '../failures/failure.js';
import { placeOf } from '../fields/message-fields.js';
import { Code } from '../gen/google/rpc/code_pb.js';
import { codeOf } from '../failures/http-status.js';
import type { HttpReply } from '../http-reply.js';
import { JsonOutput } from '../json/json-output.js';
import { parseJsonText } from '../json/json-text.js';
import { RequestMessages } from '../message/request-message.js';
import type { Binding } from '../template/binding.js';
import { BindingTable, type FoundBinding, type Lookup } from '../template/binding-table.js';
import type { Contract } from '../template/contract.js';
import { successRules } from '../template/standard-method.js';
import type { CallMetadata, Guard, UnaryReply, Upstream } from '../upstream.js';
import { type Exchange, targetOf } from './exchange.js';
import { readBody, requireJsonType } from './request-body.js';
import {
  callMetadata,
  type ForwardedHeaders,
  requestTimeoutMs,
  requireFitHeaders,
} from './request-headers.js';
import { requestTarget } from './request-target.js';
import { SuccessReplies } from './success-reply.js';

/** The options of a transcoder that concern single requests. */
export interface TranscodingOptions {
  readonly upstream: Upstream;
  readonly guard: Guard | undefined;
  readonly basePath: string;
  readonly deadlineMs: number;
  readonly maxBodyBytes: number;
  readonly forwardedHeaders: ForwardedHeaders;
  readonly trailerHeaders: ReadonlyMap<string, string>;
  readonly standardMethods: boolean;
  readonly omitUnassigned: boolean;
  readonly now: () => number;
}

/** Answers HTTP requests by unary gRPC calls, as the `google.api.http` annotations of a contract say. */
export class Transcoding {
  readonly #options: TranscodingOptions;
  readonly #errors: ErrorReplies;
  readonly #registry: Registry;
  readonly #table: BindingTable;
  readonly #requests: RequestMessages;
  readonly #successes: SuccessReplies;

  /** @throws Error with one sentence, where two bindings of the contract clash. */
  constructor({ bindings, registry }: Contract, errors: ErrorReplies, options: TranscodingOptions) {
    this.#options = options;
    this.#errors = errors;
    this.#registry = registry;
    this.#table = new BindingTable(bindings);
    this.#requests = new RequestMessages(registry);
    this.#successes = new SuccessReplies(
      options.standardMethods ? successRules(bindings) : new Map(),
      new JsonOutput(registry, options.omitUnassigned),
      options.basePath,
    );
  }

  /** Whether a path of the contract is asked for, with whatever HTTP method. */
  knows(request: IncomingMessage): boolean {
    return (
      this.#find(String(request.method), requestTarget(targetOf(request)).path).outcome !== 'unknown path'
    );
  }

  /** @throws Failure if no call is made and every client may know why. */
  answer(exchange: Exchange): HttpReply | Promise<HttpReply> {
    const { path, query } = requestTarget(exchange.url);
    const found = this.#lookUp(exchange.verb, path);
    if (found.outcome === 'found') return this.#call(exchange, found, query);
    if (found.outcome === 'unknown path') throw pathUnknown();
    const headers = { Allow: found.allowed.join(', ') };
    if (exchange.verb === 'OPTIONS') return { status: 204, headers };
    throw methodNotAllowed(headers);
  }

  /** Also finds the server as a whole, which only OPTIONS and CONNECT ask for (RFC 9112 3.2.3 and 3.2.4). */
  #lookUp(verb: string, path: string): Lookup {
    if (verb === 'CONNECT' || (verb === 'OPTIONS' && path === '*')) {
      return { outcome: 'wrong verb', allowed: this.#table.verbs() };
    }
    return this.#find(verb, path);
  }

  #find(verb: string, path: string): Lookup {
    const { basePath } = this.#options;
    if (!path.startsWith(`${basePath}/`)) return { outcome: 'unknown path' };
    return this.#table.find(verb, path.slice(basePath.length));
  }

  #call(exchange: Exchange, found: FoundBinding, query: string): HttpReply | Promise<HttpReply> {
    const { forwardedHeaders, maxBodyBytes } = this.#options;
    let body: Uint8Array | Promise<Uint8Array>;
    try {
      requireFitHeaders(exchange.request.headers, forwardedHeaders);
      body = readBody(exchange.request, maxBodyBytes);
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
  ): HttpReply | Promise<HttpReply> {
    const { headers, headersDistinct } = exchange.request;
    const { binding, segments } = found;
    const { upstream, deadlineMs, now } = this.#options;
    let message: Message;
    let timeoutMs: number;
    try {
      timeoutMs = requestTimeoutMs(headers, deadlineMs);
      const json = bodyJson(this.#registry, binding, headersDistinct['content-type']?.join(', '), body);
      message = this.#requests.read(binding, { segments, query, body: json });
    } catch (failure) {
      return this.#refuse(exchange, found, failure);
    }
    const reply = upstream.unary({
      path: binding.callPath,
      message: toBinary(binding.method.input, message),
      metadata: this.#metadata(exchange),
      deadline: now() + timeoutMs,
      cancellation: exchange,
    });
    if (!(reply instanceof Promise)) return this.#reply(exchange, binding, message, reply);
    return reply.then((later) => this.#reply(exchange, binding, message, later));
  }

  #metadata({ request, requestId }: Exchange): CallMetadata {
    return callMetadata(request.headersDistinct, requestId, this.#options.forwardedHeaders);
  }

  #reply(exchange: Exchange, binding: Binding, message: Message, reply: UnaryReply): HttpReply {
    const { request, requestId } = exchange;
    const answer = isOk(reply)
      ? this.#successes.reply(binding, message, reply.message, request.headers)
      : this.#errors.ofUpstream(reply, requestId);
    return this.#withTrailers(answer, reply);
  }

  #withTrailers(answer: HttpReply, { trailers }: UnaryReply): HttpReply {
    const { trailerHeaders } = this.#options;
    if (trailers === undefined || trailerHeaders.size === 0) return answer;
    const headers: Record<string, string> = { ...answer.headers };
    for (const [key, name] of trailerHeaders) {
      const [value] = trailers.get(key);
      if (typeof value === 'string') headers[name] = value;
    }
    return { ...answer, headers };
  }

  /** A client that the guard refuses gets the guard's verdict and learns nothing about the request. */
  async #refuse(exchange: Exchange, { binding }: FoundBinding, failure: unknown): Promise<HttpReply> {
    const { guard, deadlineMs, now } = this.#options;
    const verdict = await guard?.({
      path: binding.callPath,
      metadata: this.#metadata(exchange),
      deadline: now() + deadlineMs,
      cancellation: exchange,
    });
    if (verdict === undefined || isOk(verdict)) throw failure;
    return this.#errors.ofUpstream(verdict, exchange.requestId);
  }
}

function isOk({ code }: UnaryReply): boolean {
  return codeOf(code) === Code.OK;
}

function bodyJson(
  registry: Registry,
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
  const { input: message } = method;
  return parseJsonText(bytes, (json, steps) =>
    body === '*'
      ? placeOf(registry, { message, json }, steps)
      : placeOf(registry, { message, json: { [body.jsonName]: json } }, [body.jsonName, ...steps]),
  );
}
