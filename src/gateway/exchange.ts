import type { Request, Response } from 'express';

/** A request that is being answered. */
export class Exchange {
  readonly request: Request;
  readonly response: Response;
  readonly requestId: string;
  /** The HTTP method. */
  readonly verb: string;
  readonly #gone = new AbortController();

  constructor(request: Request, response: Response, requestId: string) {
    this.request = request;
    this.response = response;
    this.requestId = requestId;
    this.verb = request.method;
    response.once('close', () => {
      if (!response.writableFinished) this.#gone.abort();
    });
  }

  /** Aborted when the caller has gone before the answer was written. */
  get signal(): AbortSignal {
    return this.#gone.signal;
  }
}
