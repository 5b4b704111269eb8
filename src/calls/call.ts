import type { Metadata, status } from '@grpc/grpc-js';

/** Whether the client of a call has gone: given up, or lost its connection. */
export interface Cancellation {
  readonly cancelled: boolean;
  /**
   * Calls the listener when the client goes; a later listener may take its place. It may also be called when
   * the call has been answered.
   */
  onCancelled(listener: () => void): void;
}

/** The metadata of a call, as far as it is read: all values of a key. A `Metadata` of grpc-js is one. */
export interface CallMetadata {
  get(key: string): readonly (string | Uint8Array)[];
}

/** A unary gRPC call, whoever took it in: grpc-js from a socket, or the gateway of the same process. */
export interface Call {
  /** The method's path: `/package.Service/Method`. */
  readonly path: string;
  /** The request message in binary form. */
  readonly message: Uint8Array;
  readonly metadata: CallMetadata;
  /** When the client stops waiting, in milliseconds since the epoch; `Infinity` if it did not say. */
  readonly deadline: number;
  readonly cancellation: Cancellation;
}

/** How a call ended. */
export interface Reply {
  readonly code: status;
  /** The status message; empty with `OK`. */
  readonly details: string;
  /** The response message in binary form, with `OK` only. */
  readonly message?: Uint8Array;
  /** Always names the call by `x-request-id`; with a failure also `grpc-status-details-bin`. */
  readonly trailers: Metadata;
}
