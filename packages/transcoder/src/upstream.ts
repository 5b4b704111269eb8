import type { Metadata, status } from '@grpc/grpc-js';

/** Whether the caller of a call has gone. */
export interface Cancellation {
  readonly cancelled: boolean;
  /**
   * Calls the listener when the caller goes; a later listener may take its place. It may also be called when
   * the call has been answered.
   */
  onCancelled(listener: () => void): void;
}

/** One unary gRPC call as the gateway hands it over. */
export interface UnaryCall {
  /** The method's path: `/package.Service/Method`. */
  readonly path: string;
  /** The request message in binary form. */
  readonly message: Uint8Array;
  readonly metadata: Metadata;
  /** When the caller stops waiting, in milliseconds since the epoch. */
  readonly deadline: number;
  readonly cancellation: Cancellation;
}

/** How a unary gRPC call ended. */
export interface UnaryReply {
  readonly code: status;
  /** The status message; empty with `OK`. */
  readonly details: string;
  /** The response message in binary form, with `OK` only. */
  readonly message?: Uint8Array;
  readonly trailers: Metadata;
}

/** The gRPC server that the gateway speaks to: over a channel, or in the same process. */
export interface Upstream {
  /** Never throws or rejects: every failure is a status of the reply, which may be there at once. */
  unary(call: UnaryCall): UnaryReply | Promise<UnaryReply>;
}
