import type { IncomingMessage, ServerResponse } from 'node:http';
import type { UnaryCall } from '../upstream.js';

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

  constructor(request: IncomingMessage, response: ServerResponse, requestId: string, started: number) {
    this.request = request;
    this.response = response;
    this.requestId = requestId;
    this.started = started;
    this.verb = String(request.method);
    this.url = targetOf(request);
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
