/** The log of a transcoder, for everything that responses do not reveal; a pino logger fits. */
export interface TranscoderLog {
  /** One line for each successful request, without its query or payload; also the causes of client errors. */
  debug(fields: object, message: string): void;
  /** One line for each failed request, and for each successful one if the options say so. */
  info(fields: object, message: string): void;
  /** Temporary failures of the upstream, with the cause as `err`. */
  warn(fields: object, message: string): void;
  /** Unexpected failures, with the cause as `err`. */
  error(fields: object, message: string): void;
  /** Whether lines of this level are written. Default: true. */
  isLevelEnabled?(level: 'debug' | 'info'): boolean;
}

/**
 * The kinds of log lines that clients can cause: refusals of clients without a known identity, refusals of
 * known callers, and causes of failures. Each kind may have its own limit.
 */
export type LogKind = 'unauthenticated' | 'callers' | 'causes';
