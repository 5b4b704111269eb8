/** Where a transcoder writes what no answer tells; a pino logger is one. */
export interface TranscoderLog {
  /** One line for each request that succeeded, never a URL or a payload; the cause of a client's own mistake. */
  debug(fields: object, message: string): void;
  /** One line for each request that did not succeed. */
  info(fields: object, message: string): void;
  /** What the upstream could not do just then, with its cause as `err`. */
  warn(fields: object, message: string): void;
  /** What was not foreseen, with its cause as `err`. */
  error(fields: object, message: string): void;
}
