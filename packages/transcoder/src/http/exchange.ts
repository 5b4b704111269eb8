import type { IncomingMessage, ServerResponse } from 'node:http';
import { Code } from '../gen/google/rpc/code_pb.js';
import type { HttpReply } from '../http-reply.js';
import type { faultless, RequestObservation } from '../hooks.js';
import type { Cancellation, UnaryReply } from '../upstream.js';
import { hasBody, type RequestTarget } from './head.js';
import { type SentHeaders, sentHeaders } from './sent-headers.js';

/** What the head of a request is read with. */
export interface Arriving extends ReturnType<typeof faultless> {
  /** The names of the headers of which `Exchange.sent` has the lines. */
  readonly names: { has(lowerCaseName: string): boolean };
}

/** A request in progress, with its response. */
export class Exchange implements Cancellation {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly requestId: string;
  /** When the request arrived, in milliseconds by the clock `now`. */
  readonly started: number;
  /** The HTTP method. */
  readonly verb: string;
  readonly target: RequestTarget;
  /** The lines of some headers, as the client sent them: `headers` joins or drops repeated ones. */
  readonly sent: SentHeaders;
  readonly observation: RequestObservation;
  /** Calls a listener of other code; what it throws is logged. */
  readonly notify: Arriving['notify'];
  /** The path template, for observers; undefined for an unknown path. The `answer` of `respond` may set it. */
  template: string | undefined;
  /** Whether the server has identified the caller; otherwise the client is unauthenticated. */
  callerKnown = false;
  /** Fields that the server adds to the log line. */
  fields: UnaryReply['fields'];
  /** Whether the response has been passed to Node. */
  written = false;
  readonly #awaitsContinue: boolean;
  readonly #closeListeners: (() => void)[] = [];
  /** Whether the connection has closed. */
  #isLost = false;

  /** @param awaitsContinue whether the client waits for 100 (RFC 9110 10.1.1) before it sends the body. */
  constructor(
    request: IncomingMessage,
    response: ServerResponse,
    target: RequestTarget,
    awaitsContinue: boolean,
    { names, notify, now, observer, requestIdOf }: Arriving,
  ) {
    const { headers } = request;
    const id = headers['x-request-id'];
    this.request = request;
    this.response = response;
    this.requestId = requestIdOf(typeof id === 'string' ? id : undefined);
    this.started = now();
    this.verb = String(request.method);
    this.target = target;
    this.sent = sentHeaders(request, names);
    this.#awaitsContinue = awaitsContinue;
    this.notify = notify;
    this.observation = observer.begin({ method: this.verb, headers });
  }

  /**
   * Whether part of the body is unread. In the turn of the event loop that delivered the head, that part may have arrived:
   * Node reads it only after it has delivered the head.
   */
  get partial(): boolean {
    return !this.request.complete && hasBody(this.request.headers);
  }

  /** Sends 100 if the client waits for it before it sends the body. */
  send100Continue(): void {
    if (this.#awaitsContinue && !this.written && !this.cancelled) this.response.writeContinue();
  }

  /** Keeps what a reply says about the caller, and its fields for the log line. */
  recordCaller(reply: UnaryReply): void {
    this.callerKnown = isCallerKnown(reply);
    this.fields = reply.fields;
  }

  /** Notifies the observers of the outcome. Without a reply, the client has disconnected. */
  end(reply?: Pick<HttpReply, 'status' | 'reason'>): void {
    const { template, requestId } = this;
    this.observation.end({ template, status: reply?.status, reason: reply?.reason, requestId });
  }

  /** Whether other code has responded: a middleware in front, or one that limits the time. */
  get answeredByOthers(): boolean {
    return !this.written && this.response.headersSent;
  }

  /**
   * Whether nobody waits for the reply: other code has responded, or the client disconnected before the response was
   * written.
   */
  get cancelled(): boolean {
    if (this.answeredByOthers) return true;
    // An upload fails when the socket is destroyed, which is before the response closes.
    const isGone = this.#isLost || this.response.closed || this.request.socket.destroyed;
    return isGone && !this.response.writableFinished;
  }

  /** Whether the request is complete and its response closed: later bytes on the connection belong to neither. */
  get done(): boolean {
    return this.request.complete && this.response.closed;
  }

  /**
   * To be called when the connection has closed: Node 20 and 22 do not close a response that waits for an earlier response.
   */
  lose(): void {
    this.#isLost = true;
    this.#callListeners();
  }

  /** Calls the listener once nothing more of the response can be sent. */
  onClose(listener: () => void): void {
    if (this.#isLost || this.response.closed) {
      listener();
      return;
    }
    this.#closeListeners.push(listener);
    // One listener on the response serves all.
    if (this.#closeListeners.length === 1) this.response.once('close', this.#callListeners);
  }

  readonly #callListeners = (): void => {
    for (const listener of this.#closeListeners.splice(0)) listener();
  };

  onCancelled(listener: () => void): void {
    this.onClose(() => {
      if (this.cancelled) this.notify(listener);
    });
  }
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
function isCallerKnown(reply: UnaryReply): boolean {
  const { callerKnown, answered, code } = reply;
  const isLaterRefusal = answered && !BEFORE_IDENTIFIED.has(code);
  return callerKnown ?? (isOk(reply) || isLaterRefusal);
}
