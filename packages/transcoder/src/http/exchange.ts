import type { IncomingMessage, ServerResponse } from 'node:http';
import type { HttpReply } from '../http-reply.js';
import type { RequestObservation } from '../request-observer.js';
import type { UnaryCall } from '../upstream.js';
import { hasBody } from './request-body.js';

type UnaryCancellation = UnaryCall['cancellation'];

/** A request that is being answered. */
export class Exchange implements UnaryCancellation {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly requestId: string;
  /** When it came, in milliseconds since the epoch. */
  readonly started: number;
  /** The HTTP method. */
  readonly verb: string;
  /** The request target as it came, also where a router has cut its own prefix off. */
  readonly url: string;
  readonly observation: RequestObservation;
  /** What its path was recognized as, for observers; undefined for an unknown path. */
  template: string | undefined;
  /** Whether the server has said that it knows the caller; others are strangers. */
  known = false;
  /** The caller, where the server tells. */
  subject: string | undefined;
  /** Whether the reply has been handed to Node. */
  answered = false;
  readonly #awaitsContinue: boolean;

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

  /** Whether a part of the body has not come. Before the end of the turn that brought the head, it may be on its way. */
  get partial(): boolean {
    return !this.request.complete && hasBody(this.request.headers);
  }

  /** Lets a client send the body that it announced. */
  invite(): void {
    if (this.#awaitsContinue && !this.answered) this.response.writeContinue();
  }

  /** Tells the observers that it is over; without a reply, the client has gone. */
  end(reply?: HttpReply): void {
    const { template, requestId } = this;
    this.observation.end({ template, status: reply?.status, reason: reply?.reason, requestId });
  }

  /** Whether the caller has gone before the answer was written. */
  get cancelled(): boolean {
    return this.response.closed && !this.response.writableFinished;
  }

  /** Whether the request has come whole and Node is done with the response: what comes now belongs to neither. */
  get over(): boolean {
    return this.request.complete && this.response.closed;
  }

  onCancelled(listener: () => void): void {
    this.response.once('close', listener);
  }
}

/** The request target; Express keeps it apart when it cuts the path of a mounted middleware off. */
export function targetOf(request: IncomingMessage & { readonly originalUrl?: string }): string {
  return String(request.originalUrl ?? request.url);
}
