import type { Metadata } from '@grpc/grpc-js';
import type { Request, Response } from 'express';
import { callMetadata } from './request-headers.js';
import type { Cancellation } from '../upstream.js';

/** A request that is being answered. */
export class Exchange implements Cancellation {
  readonly request: Request;
  readonly response: Response;
  readonly requestId: string;
  /** When it came, in milliseconds since the epoch. */
  readonly started: number;
  /** The HTTP method. */
  readonly verb: string;

  constructor(request: Request, response: Response, requestId: string, started: number) {
    this.request = request;
    this.response = response;
    this.requestId = requestId;
    this.started = started;
    this.verb = request.method;
  }

  /** The metadata of the call that the request becomes, made anew each time. */
  metadata(): Metadata {
    return callMetadata(this.request.headersDistinct, this.requestId);
  }

  /** Whether the caller has gone before the answer was written. */
  get cancelled(): boolean {
    return this.response.closed && !this.response.writableFinished;
  }

  onCancelled(listener: () => void): void {
    this.response.once('close', listener);
  }
}
