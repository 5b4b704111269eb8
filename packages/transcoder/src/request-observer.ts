import type { IncomingHttpHeaders } from 'node:http';

/** Observes requests, for example for metrics and traces. What they throw goes to the log. */
export interface RequestObserver {
  /**
   * Called when the head of a request has arrived, before the request is processed. For bytes that are not an HTTP
   * request, `method` and `headers` are empty.
   */
  begin(request: { readonly method: string; readonly headers: IncomingHttpHeaders }): RequestObservation;
}

/** The observation of one request, until its end. */
export interface RequestObservation {
  /** Metadata for the upstream call. It replaces metadata from the client with the same keys, such as `traceparent`. */
  readonly metadata?: ReadonlyMap<string, string> | undefined;
  /** Fields added to each log line about the request. */
  readonly fields?: Readonly<Record<string, string>> | undefined;
  /**
   * Called once, when the response has been written or the client has disconnected; for a stream, when it has ended.
   */
  end(outcome: RequestOutcome): void;
}

/** The outcome of a request. */
export interface RequestOutcome {
  /**
   * The path template of the matched method, as written in the contract, with the base path; or the template that the
   * `answer` of `respond` set. Undefined for an unknown path, and for a request that was refused before its path was
   * read.
   */
  readonly template: string | undefined;
  /** The HTTP status; undefined if the client disconnected first. */
  readonly status: number | undefined;
  /** The reason of the error, if it has one. */
  readonly reason: string | undefined;
  readonly requestId: string;
}
