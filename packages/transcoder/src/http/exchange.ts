import type { IncomingMessage, ServerResponse } from 'node:http';
import type { HttpReply } from '../http-reply.js';
import type { RequestObservation } from '../request-observer.js';
import type { UnaryCall, UnaryReply } from '../upstream.js';
import { hasBody } from './request-body.js';

type UnaryCancellation = UnaryCall['cancellation'];

/** A request that is being answered. */
export class Exchange implements UnaryCancellation {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly requestId: string;
  /** When it arrived, in milliseconds since the epoch. */
  readonly started: number;
  /** The HTTP method. */
  readonly verb: string;
  /** The request target as sent, even if a router has removed its own prefix. */
  readonly url: string;
  readonly observation: RequestObservation;
  /** The template that its path matched, for observers; undefined for an unknown path. */
  template: string | undefined;
  /** Whether the server has identified the caller; otherwise it is unauthenticated. */
  known = false;
  /** What the server adds to the log line. */
  fields: UnaryReply['fields'];
  /** Whether the reply has been handed to Node. */
  answered = false;
  readonly #awaitsContinue: boolean;
  #whenOver: (() => void)[] | undefined;
  #lost = false;

  /** @param awaitsContinue whether the client waits for 100 (RFC 9110 10.1.1) before it sends the body. */
  constructor(
    request: IncomingMessage,
    response: ServerResponse,
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
    this.#awaitsContinue = awaitsContinue;
    this.observation = observation;
  }

  /** Whether part of the body is missing. Until the end of the turn that brought the head, it may be on its way. */
  get partial(): boolean {
    return !this.request.complete && hasBody(this.request.headers);
  }

  /** Asks the client for the body that it announced. */
  invite(): void {
    if (this.#awaitsContinue && !this.answered) this.response.writeContinue();
  }

  /** Tells the observers about the end; without a reply, the client has gone. */
  end(reply?: HttpReply): void {
    const { template, requestId } = this;
    this.observation.end({ template, status: reply?.status, reason: reply?.reason, requestId });
  }

  /** Whether the client left before the response was written. */
  get cancelled(): boolean {
    return (this.#lost || this.response.closed) && !this.response.writableFinished;
  }

  /** Whether the request is complete and Node is done with the response: later bytes belong to neither. */
  get over(): boolean {
    return this.request.complete && this.response.closed;
  }

  /** Is told that the connection has closed. Node 20 and 22 do not close a response that waits for an earlier one. */
  lose(): void {
    this.#lost = true;
    this.#tellOver();
  }

  /** Calls the listener once nothing more of the response can be sent. */
  whenOver(listener: () => void): void {
    if (this.#lost || this.response.closed) {
      listener();
      return;
    }
    if (this.#whenOver === undefined) this.response.once('close', this.#tellOver);
    this.#whenOver = [...(this.#whenOver ?? []), listener];
  }

  readonly #tellOver = (): void => {
    const listeners = this.#whenOver ?? [];
    this.#whenOver = undefined;
    for (const listener of listeners) listener();
  };

  onCancelled(listener: () => void): void {
    this.whenOver(() => {
      if (this.cancelled) listener();
    });
  }
}

/** The request target. Express keeps it separately when it removes the path of a mounted middleware. */
export function targetOf(request: IncomingMessage & { readonly originalUrl?: string }): string {
  return String(request.originalUrl ?? request.url);
}
