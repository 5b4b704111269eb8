/** An HTTP response before it is written. */
export interface HttpReply {
  readonly status: number;
  /** Headers besides those of every response. */
  readonly headers: Readonly<Record<string, string>>;
  /** The content; undefined for none. An iterable is read no faster than the client accepts its chunks. */
  readonly body?: string | Uint8Array | AsyncIterable<Uint8Array>;
  /** Returns the error that cut an iterable body short, if any. Called when the response has ended; for the log. */
  readonly brokenOff?: () => ErrorReply | undefined;
  /** Default: `application/json`. */
  readonly contentType?: string;
  /** The underlying error, for the log only. */
  readonly cause?: unknown;
  /** The reason of the error, such as `REQUEST_MALFORMED`; for the log and the observers. */
  readonly reason?: string | undefined;
  /** Whether the request is routine, such as a health check: it is then logged at `debug`. Default: false. */
  readonly routine?: boolean;
}

/** An error response, which always has a text body. */
export interface ErrorReply extends HttpReply {
  readonly body: string;
}
