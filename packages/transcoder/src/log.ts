/** The logger of a transcoder, for everything that responses do not reveal. A pino logger has this shape. */
export interface TranscoderLog {
  /** One line for each successful request, without its query or payload, and the causes of client errors. */
  debug(fields: object, message: string): void;
  /** One line for each failed request, and for each successful one if `answeredLevel` is `info`. */
  info(fields: object, message: string): void;
  /** Temporary failures of the upstream, with the cause as `err`. */
  warn(fields: object, message: string): void;
  /** Unexpected failures, with the cause as `err`. */
  error(fields: object, message: string): void;
  /** Whether lines of this level are written. Default: true. */
  isLevelEnabled?(level: 'debug' | 'info'): boolean;
}

/**
 * The kinds of log lines that clients can cause: failed requests of unauthenticated clients, failed requests of
 * identified callers, and causes of failures. `mayLog` can limit each kind separately.
 */
export type LogKind = 'unauthenticated' | 'callers' | 'causes';
