import { isUint8Array } from 'node:util/types';
import type { Message } from '@bufbuild/protobuf';
import type { ErrorReplies } from '../failures/error-reply.js';
import { type HttpFailure, internal } from '../failures/failure.js';
import type { HttpReply } from '../http-reply.js';
import type { UnknownType } from '../json/json-output.js';
import { httpBodyJson, setData } from '../message/http-body.js';
import type { RequestMessages } from '../message/request-message.js';
import type { OptionsInForce } from '../options.js';
import type { FoundBinding } from '../template/binding-table.js';
import { credentialOf, type UnaryCall, type UnaryReply, type Upstream } from '../upstream.js';
import { bodyJson, isEnvelope } from './body-json.js';
import { ArrivingBody, NO_BYTES } from './body.js';
import { requireDecoded } from './content-type.js';
import { type Exchange, isOk } from './exchange.js';
import { hasBody } from './head.js';
import type { SuccessReplies } from './reply.js';
import { requestTimeoutMs } from './request-timeout.js';
import type { OpenStream } from './open-streams.js';
import { StreamedReply } from './streamed-reply.js';
import type { PendingRequest, Uploads } from './uploads.js';

/** The options of a transcoder that its calls follow. */
export interface CallSettings extends OptionsInForce {
  readonly upstream: Upstream;
  /** Called with the type URL of each Any whose type the contract lacks; reports each type once. */
  readonly reportUnknownType: UnknownType;
}

/** The parts that all calls share. */
export interface CallParts extends CallSettings {
  readonly errors: ErrorReplies;
  readonly requests: RequestMessages;
  readonly successes: SuccessReplies;
  readonly uploads: Uploads;
}

/**
 * One request for a method of the contract, from its head to the reply.
 *
 * The guard is asked only about a request that cannot become a call, or whose body is late (`Uploads`), and at most
 * once: the server checks the credentials of every call itself, so a call to the guard before it would be a second call
 * for nothing. A client that the guard refuses gets the guard's reply, and learns nothing about what is wrong with its
 * request.
 */
export class TranscodedCall implements PendingRequest {
  readonly #parts: CallParts;
  readonly #exchange: Exchange;
  readonly #match: FoundBinding;
  /** Undefined if the method is unary. */
  readonly #openStream: OpenStream | undefined;
  /** The gRPC call, without what is known only later. */
  readonly #callStart: Omit<UnaryCall, 'message' | 'deadline'>;
  /**
   * By when the body must have arrived and, if the method is unary, the call must have ended. `#checkRequestHead` shortens it to
   * the client's limit.
   */
  #deadline: number;
  /** Why the headers cannot be forwarded; undefined if they can. */
  readonly #unfitHeader: HttpFailure | undefined;
  /** The client's time limit, in milliseconds. */
  #timeoutMs = Infinity;
  /** The guard's answer, once it was asked: its refusal, or undefined if it lets the client pass. */
  #refusal: Promise<UnaryReply | undefined> | undefined;

  constructor(parts: CallParts, exchange: Exchange, match: FoundBinding, openStream?: OpenStream) {
    const { deadlineMs, forwarding } = parts;
    const { sent, requestId, started, observation } = exchange;
    // What observers set, such as the trace context, replaces what the client sends.
    const { metadata, unfitHeader } = forwarding.metadata(sent, requestId, observation.metadata);
    this.#parts = parts;
    this.#exchange = exchange;
    this.#match = match;
    this.#openStream = openStream;
    this.#callStart = {
      path: match.binding.callPath,
      metadata,
      // The call of a stream is cancelled when the response has ended, too.
      cancellation: openStream ?? exchange,
    };
    this.#deadline = started + deadlineMs;
    this.#unfitHeader = unfitHeader;
  }

  /** The credential, which tells callers apart; undefined for a request without. */
  get caller(): string | undefined {
    return credentialOf(this.#callStart);
  }

  guardRefusal(): Promise<UnaryReply | undefined> {
    return (this.#refusal ??= this.#askGuard());
  }

  async guardRefusalOrThrow(failure: unknown): Promise<UnaryReply> {
    const refusal = await this.guardRefusal();
    if (refusal === undefined) throw failure;
    return refusal;
  }

  async #askGuard(): Promise<UnaryReply | undefined> {
    const { guard } = this.#parts;
    if (guard === undefined) return undefined;

    const verdict = await guard({ ...this.#callStart, deadline: this.#deadline });
    this.#exchange.recordCaller(verdict);
    return isOk(verdict) ? undefined : verdict;
  }

  /**
   * Checks the head, waits for the body if there is one, and calls the upstream.
   *
   * @throws HttpFailure (or rejects with it) what is wrong with the request, if the guard lets the client pass; `INTERNAL` if
   *   other code has responded in the meantime
   */
  answer(): HttpReply | Promise<HttpReply> {
    const { maxBodyBytes } = this.#parts;
    const { request } = this.#exchange;
    try {
      this.#checkRequestHead();
    } catch (failure) {
      return this.#refusalOrThrow(failure);
    }

    return hasBody(request.headers)
      ? this.#callLater(new ArrivingBody(request, maxBodyBytes))
      : this.#callWith(NO_BYTES);
  }

  /** Checks the headers, and shortens the deadline to the client's time limit. @throws HttpFailure */
  #checkRequestHead(): void {
    const { deadlineMs, lenient, successes } = this.#parts;
    const { headers } = this.#exchange.request;
    if (this.#unfitHeader !== undefined) throw this.#unfitHeader;
    successes.refuseCreateWithIfMatch(this.#match.binding, headers);

    this.#timeoutMs = requestTimeoutMs(headers, lenient);
    this.#deadline = this.#exchange.started + Math.min(this.#timeoutMs, deadlineMs);
    requireDecoded(this.#exchange);
  }

  /** The response of the guard's refusal. @throws the failure (rejects), if the guard lets the client pass */
  async #refusalOrThrow(failure: unknown): Promise<HttpReply> {
    return this.#errorReply(await this.guardRefusalOrThrow(failure));
  }

  async #callLater(body: ArrivingBody): Promise<HttpReply> {
    const bytesOrRefusal = await this.#parts.uploads.wait(body, this.#deadline, this, this.#exchange);
    return isUint8Array(bytesOrRefusal) ? this.#callWith(bytesOrRefusal) : this.#errorReply(bytesOrRefusal);
  }

  #callWith(bodyBytes: Uint8Array): HttpReply | Promise<HttpReply> {
    const { requests, upstream } = this.#parts;
    let message: Message;
    let encoded: Uint8Array;
    try {
      message = this.#requestMessage(bodyBytes);
      encoded = requests.encode(this.#match.binding, message);
    } catch (failure) {
      return this.#refusalOrThrow(failure);
    }

    // Middleware in front, such as one that limits the time, may have responded in the meantime. There is no call then, and
    // the responder records that response.
    if (this.#exchange.answeredByOthers) throw internal(new Error('Other code has responded.'));
    if (this.#openStream !== undefined) return this.#streamedReply(this.#openStream, encoded);

    const reply = upstream.unary({ ...this.#callStart, deadline: this.#deadline, message: encoded });
    // A reply that is there at once, as in the same process, is written in this turn of the event loop.
    if (!(reply instanceof Promise)) return this.#httpReply(message, reply);
    return reply.then((later) => this.#httpReply(message, later));
  }

  /** The request message in path, query and body. @throws HttpFailure `REQUEST_MALFORMED` or `CONTENT_TYPE_UNSUPPORTED` */
  #requestMessage(bodyBytes: Uint8Array): Message {
    const { lenient, requests } = this.#parts;
    const { binding, segments } = this.#match;
    const { query } = this.#exchange.target;
    // The body of a `google.api.HttpBody` is its `data`, whatever the content type, so the bytes are not parsed, but set
    // on the message. With `lenient`, a client may also send the JSON form of the HttpBody, an envelope around the bytes.
    const isRawBody = binding.takesBytes && !(lenient && isEnvelope(this.#exchange, bodyBytes));
    if (isRawBody) {
      const json = httpBodyJson(this.#exchange.request.headers['content-type']);
      const message = requests.read(binding, { segments, query, body: json });
      setData(binding, message, bodyBytes);
      return message;
    }

    const json = bodyJson(binding, this.#exchange, bodyBytes, lenient);
    return requests.read(binding, { segments, query, body: json });
  }

  #streamedReply(openStream: OpenStream, message: Uint8Array): Promise<HttpReply> {
    const { errors, events, lenient, now, streamMs, successes, upstream } = this.#parts;
    const { binding } = this.#match;
    const { headers } = this.#exchange.request;
    // Streams have a limit of their own, `streamMs`.
    const deadline = this.#exchange.started + Math.min(this.#timeoutMs, streamMs);
    // Streaming methods have bindings only if the upstream has `serverStream`.
    const { serverStream } = upstream as Required<Upstream>;
    const format = successes.format(binding, headers.accept, { lenient, events });
    const replyStream = serverStream.call(upstream, { ...this.#callStart, message, deadline });
    openStream.abortAfter(Math.max(0, deadline - now()));

    const onHeaders = (reply: UnaryReply): void => {
      this.#exchange.recordCaller(reply);
      this.#setHeaders(reply);
    };
    return new StreamedReply(replyStream, {
      exchange: this.#exchange,
      openStream,
      format,
      errors,
      onHeaders,
    }).reply();
  }

  #httpReply(message: Message, reply: UnaryReply): HttpReply {
    this.#exchange.recordCaller(reply);
    if (!isOk(reply)) return this.#errorReply(reply);

    this.#setHeaders(reply);
    const { headers } = this.#exchange.request;
    return this.#parts.successes.reply(this.#match.binding, message, reply.message, headers);
  }

  /** The response to a call that the server, or the guard, refuses. */
  #errorReply(reply: UnaryReply): HttpReply {
    this.#setHeaders(reply);
    return this.#parts.errors.ofUpstream(reply, this.#exchange.requestId);
  }

  /** Sets the headers of the response that come from the metadata of a reply. */
  #setHeaders(reply: UnaryReply): void {
    this.#parts.replyHeaders.addTo(this.#exchange.response, reply);
  }
}
