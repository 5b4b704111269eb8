import type { status } from '@grpc/grpc-js';

/** A contract could not be read from a server. The message is one sentence, and may name the target. */
export class ReflectionError extends Error {
  override readonly name = 'ReflectionError';
  /**
   * `UNAVAILABLE`: the server cannot be reached; `UNIMPLEMENTED`: it does not support reflection; `NOT_FOUND`: it
   * describes no services; `DATA_LOSS`: it describes none whole; `RESOURCE_EXHAUSTED`: its files are too large;
   * otherwise the status of the call.
   */
  readonly code: status;

  constructor(code: status, message: string) {
    super(message);
    this.code = code;
  }
}
