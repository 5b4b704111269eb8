/** The bearer credential of a call (RFC 6750, section 2.1, as metadata). */
export const AUTHORIZATION = 'authorization';

/** The idempotency key of a create as a header or metadata; the same as its field `request_id` (AIP-155). */
export const IDEMPOTENCY_KEY = 'idempotency-key';

/** The id of a call, which appears in every log line and error, and in a trailer with the same key. */
export const REQUEST_ID = 'x-request-id';

/** Marks a guard-only call, which tells only whether the guard admits the call: if so, it fails with `GUARD_PASSED`. */
export const GUARD_ONLY = 'x-guard-only';

/** The trace that a call is part of (W3C Trace Context, chapter 3). */
export const TRACEPARENT = 'traceparent';
export const TRACESTATE = 'tracestate';

/** All metadata keys that the service reads; a transport may drop all others. */
export const READ_KEYS = [
  AUTHORIZATION,
  IDEMPOTENCY_KEY,
  REQUEST_ID,
  GUARD_ONLY,
  TRACEPARENT,
  TRACESTATE,
] as const;

/** The trailer with the `google.rpc.Status` of a failure (AIP-193, google/rpc/status.proto). */
export const STATUS_DETAILS = 'grpc-status-details-bin';

/** The trailer that tells a gRPC client how long to wait before it retries, in milliseconds (gRFC A6). */
export const RETRY_PUSHBACK = 'grpc-retry-pushback-ms';
