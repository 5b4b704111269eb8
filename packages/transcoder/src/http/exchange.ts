import type { IncomingMessage, ServerResponse } from 'node:http';
import { Code } from '../gen/google/rpc/code_pb.js';
import type { HttpReply } from '../http-response.js';
import type { RequestObservation } from '../request-observer.js';
import type { Cancellation, UnaryReply } from '../upstream.js';
import { hasBody, type SentHeaders } from './head.js';

/** A request in progress, with its response. */
export class Exchange implements Cancellation {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly requestId: string;
  /** When the request arrived, in milliseconds since the epoch. */
  readonly started: number;
  /** The HTTP method. */
  readonly verb: string;
  /** The request target as sent, even if a router has removed its own prefix. */
  readonly url: string;
  /** The headers that are read as sent. */
  readonly sent: SentHeaders;
  readonly observation: RequestObservation;
  /** The path template, for observers; undefined for an unknown path. The `answer` of `respond` may set it. */
  template: string | undefined;
  /** Whether the server has identified the caller; otherwise the client is unauthenticated. */
  callerKnown = false;
  /** Fields that the server adds to the log line. */
  fields: UnaryReply['fields'];
  /** Whether the response has been passed to Node. */
  written = false;
  readonly #awaitsContinue: boolean;
  #closeListeners: (() => void)[] | undefined;
  #lost = false;

  /** @param awaitsContinue whether the client waits for 100 (RFC 9110 10.1.1) before it sends the body. */
  constructor(
    request: IncomingMessage,
    response: ServerResponse,
    sent: SentHeaders,
    requestId: string,
    started: number,
    awaitsContinue: boolean,
    observation: RequestObservation,
  ) {
    this.request = request;
    this.response = response;
    this.requestId = requestId;
    this.started = started;
    this.verb = String(request.method);
    this.url = targetOf(request);
    this.sent = sent;
    this.#awaitsContinue = awaitsContinue;
    this.observation = observation;
  }

  /**
   * Whether part of the body is unread. Until the end of the turn that delivered the head, Node may still hold that
   * part.
   */
  get partial(): boolean {
    return !this.request.complete && hasBody(this.request.headers);
  }

  /** Sends 100 if the client waits for it before it sends the body. */
  invite(): void {
    if (this.#awaitsContinue && !this.written) this.response.writeContinue();
  }

  /** Takes over what the server says about the caller, and for the log line. */
  learn(reply: UnaryReply): void {
    this.callerKnown = knowsCaller(reply);
    this.fields = reply.fields;
  }

  /** Notifies the observers of the outcome. Without a reply, the client has disconnected. */
  end(reply?: HttpReply): void {
    const { template, requestId } = this;
    this.observation.end({ template, status: reply?.status, reason: reply?.reason, requestId });
  }

  /** Whether the client disconnected before the response was written. Its upload breaks off before the response closes. */
  get cancelled(): boolean {
    const gone = this.#lost || this.response.closed || this.request.socket.destroyed;
    return gone && !this.response.writableFinished;
  }

  /** Whether the request is complete and its response closed: later bytes on the connection belong to neither. */
  get done(): boolean {
    return this.request.complete && this.response.closed;
  }

  /**
   * To be called when the connection has closed: Node 20 and 22 do not close a response that waits for an earlier one.
   */
  lose(): void {
    this.#lost = true;
    this.#closed();
  }

  /** Calls the listener once nothing more of the response can be sent. */
  onClose(listener: () => void): void {
    if (this.#lost || this.response.closed) {
      listener();
      return;
    }
    if (this.#closeListeners === undefined) this.response.once('close', this.#closed);
    this.#closeListeners = [...(this.#closeListeners ?? []), listener];
  }

  readonly #closed = (): void => {
    const listeners = this.#closeListeners ?? [];
    this.#closeListeners = undefined;
    for (const listener of listeners) listener();
  };

  onCancelled(listener: () => void): void {
    this.onClose(() => {
      if (this.cancelled) listener();
    });
  }
}

/**
 * The request target. Express keeps it in `originalUrl`, since it removes the path of mounted middleware from `url`.
 */
export function targetOf(request: IncomingMessage & { readonly originalUrl?: string }): string {
  return String(request.originalUrl ?? request.url);
}

const OK: number = Code.OK;

/** Whether a call succeeded. */
export function isOk({ code }: UnaryReply): boolean {
  return code === OK;
}

/** The codes with which a server may refuse a call before it has identified the caller. */
const BEFORE_IDENTIFIED: ReadonlySet<number> = new Set([
  Code.UNAUTHENTICATED,
  Code.UNAVAILABLE,
  Code.RESOURCE_EXHAUSTED,
  Code.DEADLINE_EXCEEDED,
]);

/** Whether a reply shows that the server has identified the caller. */
function knowsCaller(reply: UnaryReply): boolean {
  const { callerKnown, answered, code } = reply;
  return callerKnown ?? (isOk(reply) || (answered && !BEFORE_IDENTIFIED.has(code)));
}
