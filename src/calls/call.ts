import type { Metadata, status } from '@grpc/grpc-js';
import type { Caller } from '../auth/auth-result.js';
import type { DomainReason } from '../registry/failure.js';

/** The cancellation of a call: its client cancelled it or lost its connection. */
export interface Cancellation {
  readonly cancelled: boolean;
  /** Calls the listener if the call is cancelled before the reply. A later listener may replace it. */
  onCancelled(listener: () => void): void;
}

/** Read access to a call's metadata: all values of a key. The `Metadata` of grpc-js implements it. */
export interface MetadataReader {
  get(key: MetadataKey): readonly (string | Uint8Array)[];
}

/** A unary gRPC call, from grpc-js on a socket or from the gateway in the same process. */
export interface Call {
  /** The method's path: `/package.Service/Method`. */
  readonly path: string;
  /** The request message in binary form; undefined if the request was not exactly one message. */
  readonly message: Uint8Array | undefined;
  readonly metadata: MetadataReader;
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
  /** Has `x-request-id`, and for a failure `grpc-status-details-bin`; empty if nobody receives the reply. */
  readonly trailers: Metadata;
  /** The caller's subject, set only for the log of the gateway in the same process. */
  fields?: { readonly sub: string };
}

/** What a method requires of a call: nothing, or a token with this scope. */
export type Access = 'public' | { readonly scope: string };

/** The context of a handler, without the request message. */
export interface HandlerContext {
  readonly metadata: MetadataReader;
  /** The caller; absent if the method is public. */
  readonly caller: Caller | undefined;
  /** Sent with the response, but not with a failure. Has `x-request-id` already. */
  readonly trailers: Metadata;
  /** Whether nobody waits for the response any longer: the deadline has passed, or the client has cancelled. */
  readonly signal: Pick<AbortSignal, 'aborted'>;
}

/** A unary method as the pipeline runs it: bytes in, bytes out. */
export interface Method<Request = unknown> {
  /** `/package.Service/Method` */
  readonly path: string;
  /** If undefined, every call is refused. */
  readonly access: Access | undefined;
  /** @throws Failure `REQUEST_MALFORMED` */
  decode(message: Uint8Array): Request;
  /** The cached response to the request, if there is one. Default: every request is handled. */
  cachedResponse?(request: Request): Uint8Array | undefined;
  handle(request: Request, context: HandlerContext): Uint8Array | Promise<Uint8Array>;
}

/** A call on its way through the pipeline, which is also the context of its handler. */
export interface CallContext extends HandlerContext {
  readonly call: Call;
  /** Absent when no method has the path of the call. */
  readonly method: Method | undefined;
  /** Whether this is an auth-only call. */
  readonly authOnly: boolean;
  /** The call's id in logs, errors and trailers. */
  readonly requestId: string;
  /** Set by the guard. */
  caller: Caller | undefined;
  /** The decoded message, set after the guard. */
  request: unknown;
  /** Set when the deadline passes or the client cancels. */
  readonly signal: { aborted: boolean };
  /** Why the call failed, if it did. */
  reason: Reason | undefined;
  /** Added to each log line about the call; set by observers. */
  fields: Readonly<Record<string, string>> | undefined;
}

/** Runs the rest of the pipeline. */
export type Next = (context: CallContext) => Reply | Promise<Reply>;

/** One step of the pipeline. It calls `next` with its context to run the rest, returns its own reply, or throws. */
export type Interceptor = (context: CallContext, next: Next) => Reply | Promise<Reply>;

/**
 * Why a call failed outside the domain: before it reached the registry, or on its way back. `DEADLINE_EXCEEDED` is a
 * reason of the domain, since the store gives it too.
 */
export type CallReason =
  | 'TOKEN_MISSING'
  | 'TOKEN_INVALID'
  | 'KEYS_UNAVAILABLE'
  | 'SCOPE_MISSING'
  | 'REQUEST_MALFORMED'
  | 'REQUEST_TOO_LARGE'
  | 'PATH_UNKNOWN'
  | 'SERVICE_UNKNOWN'
  | 'UNSUPPORTED'
  | 'OVERLOADED'
  | 'SHUTTING_DOWN'
  | 'CANCELLED'
  | 'GUARD_PASSED'
  | 'INTERNAL';

/** The `reason` of an `ErrorInfo` (AIP-193): every failure that a client can see. */
export type Reason = DomainReason | CallReason;

/**
 * The longest head of a request over either protocol, in bytes: the hard limit on metadata of gRPC implementations in
 * other languages, and Node's default for HTTP/1.1.
 */
export const HEAD_MAX_BYTES = 16_384;

/** The bearer credential of a call (RFC 6750, section 2.1, as metadata). */
export const AUTHORIZATION = 'authorization';

/** The idempotency key of a create as a header or metadata; the same as its field `request_id` (AIP-155). */
export const IDEMPOTENCY_KEY = 'idempotency-key';

/** The trailer, and the response header, of a create whose route an earlier request with its key stored: `true`. */
export const IDEMPOTENT_REPLAYED = 'idempotent-replayed';

/**
 * The id of a call, which appears in every log line and error, and in a trailer with the same key. The field
 * `request_id` of a create is its idempotency key instead.
 */
export const REQUEST_ID = 'x-request-id';

/** Marks an auth-only call, which tells only whether the guard admits the call: if so, it fails with `GUARD_PASSED`. */
export const AUTH_ONLY = 'x-auth-only';

/** The trace that a call is part of (W3C Trace Context, chapter 3). */
export const TRACEPARENT = 'traceparent';
export const TRACESTATE = 'tracestate';

/** All metadata keys that the service reads; transports drop all others. */
export const READ_KEYS = [
  AUTHORIZATION,
  IDEMPOTENCY_KEY,
  REQUEST_ID,
  AUTH_ONLY,
  TRACEPARENT,
  TRACESTATE,
] as const;

export type MetadataKey = (typeof READ_KEYS)[number];
