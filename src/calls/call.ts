import type { Metadata, status } from '@grpc/grpc-js';
import type { Reason } from './failures.js';

/** The cancellation of a call: its client cancelled it or lost its connection. */
export interface Cancellation {
  readonly cancelled: boolean;
  /** Calls the listener if the call is cancelled before the reply. A later listener may replace it. */
  onCancelled(listener: () => void): void;
}

/** Read access to a call's metadata: all values of a key. The `Metadata` of grpc-js implements it. */
export interface CallMetadata {
  get(key: string): readonly (string | Uint8Array)[];
}

/** A unary gRPC call, from grpc-js on a socket or from the gateway in the same process. */
export interface Call {
  /** The method's path: `/package.Service/Method`. */
  readonly path: string;
  /** The request message in binary form; undefined if the request was not exactly one message. */
  readonly message: Uint8Array | undefined;
  readonly metadata: CallMetadata;
  /** When the client stops waiting, in milliseconds on the clock of `performance.now()`; `Infinity` for never. */
  readonly deadline: number;
  readonly cancellation: Cancellation;
  /** Set if the call ended before its request was complete. Such a call is observed, not handled. */
  readonly end?: EarlyEnd | undefined;
}

/** How a call ended before its request was complete. */
export interface EarlyEnd {
  /** The status code as the client sees it. */
  readonly code: status;
  readonly reason: Reason;
}

/** The outcome of a call. */
export interface Reply {
  readonly code: status;
  /** The status message; empty with `OK`. */
  readonly details: string;
  /** The response message in binary form, with `OK` only. */
  readonly message?: Uint8Array | undefined;
  /** Always has `x-request-id`; for a failure also `grpc-status-details-bin`. */
  readonly trailers: Metadata;
  /** The caller's subject, set only for the log of the gateway in the same process. */
  fields?: { readonly sub: string };
}
