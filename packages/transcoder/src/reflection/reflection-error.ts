import type { status } from '@grpc/grpc-js';

/** Why a contract could not be taken from a server, in a sentence. It may name the target. */
export class ReflectionError extends Error {
  override readonly name = 'ReflectionError';
  /**
   * `UNAVAILABLE`: nobody answers; `UNIMPLEMENTED`: the server has no reflection; `DATA_LOSS`: its files do not fit
   * together; `RESOURCE_EXHAUSTED`: they are too large; otherwise the status of the call.
   */
  readonly code: status;

  constructor(code: status, message: string) {
    super(message);
    this.code = code;
  }
}
