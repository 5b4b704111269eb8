/** The log of a transcoder, for everything that responses do not tell; a pino logger fits. */
export interface TranscoderLog {
  /** One line for each successful request, without its query or a payload; also the cause of a client's own mistake. */
  debug(fields: object, message: string): void;
  /** One line for each failed request, and for each successful one where the options say so. */
  info(fields: object, message: string): void;
  /** Temporary failures of the upstream, with the cause as `err`. */
  warn(fields: object, message: string): void;
  /** Unforeseen failures, with the cause as `err`. */
  error(fields: object, message: string): void;
  /** Whether lines of this level are written. Default: they are. */
  isLevelEnabled?(level: 'debug' | 'info'): boolean;
}

/**
 * The lines that clients can provoke: refusals of those that the server does not know and of those that it knows, and
 * causes of failures. Each kind may have a limit of its own.
 */
export type LogKind = 'strangers' | 'callers' | 'causes';
