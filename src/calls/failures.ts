import { Metadata, status } from '@grpc/grpc-js';
import { BadRequest, ErrorInfo, RequestInfo, RetryInfo } from '../gen/google/rpc/error_details.js';
import { Status } from '../gen/google/rpc/status.js';
import { protobufPackage as DOMAIN } from '../gen/routing/v1/route_service.js';
import { Failure } from '../registry/failure.js';
import { type CallReason, type Reason, type Reply, REQUEST_ID } from './call.js';

/** Overload has the same status code as too large a request, so clients are told not to retry that (gRFC A6). */
const NEVER = -1;

/** The status code of each failure, and how long a client should wait before it retries, in milliseconds. */
export const FAILURES: Readonly<Record<Reason, { readonly code: status; readonly retryMs?: number }>> = {
  TOKEN_MISSING: { code: status.UNAUTHENTICATED },
  TOKEN_INVALID: { code: status.UNAUTHENTICATED },
  KEYS_UNAVAILABLE: { code: status.UNAVAILABLE },
  SCOPE_MISSING: { code: status.PERMISSION_DENIED },
  REQUEST_MALFORMED: { code: status.INVALID_ARGUMENT },
  REQUEST_TOO_LARGE: { code: status.RESOURCE_EXHAUSTED, retryMs: NEVER },
  PATH_UNKNOWN: { code: status.UNIMPLEMENTED },
  SERVICE_UNKNOWN: { code: status.NOT_FOUND },
  UNSUPPORTED: { code: status.UNIMPLEMENTED },
  OVERLOADED: { code: status.RESOURCE_EXHAUSTED, retryMs: 1_000 },
  SHUTTING_DOWN: { code: status.UNAVAILABLE, retryMs: 1_000 },
  DEADLINE_EXCEEDED: { code: status.DEADLINE_EXCEEDED },
  CANCELLED: { code: status.CANCELLED },
  GUARD_PASSED: { code: status.ABORTED },
  INTERNAL: { code: status.INTERNAL },
  ROUTE_INVALID: { code: status.INVALID_ARGUMENT },
  ROUTE_NOT_FOUND: { code: status.NOT_FOUND },
  ROUTE_EXISTS: { code: status.ALREADY_EXISTS },
  REQUEST_ID_REUSED: { code: status.ALREADY_EXISTS },
  STORE_UNAVAILABLE: { code: status.UNAVAILABLE },
};

/** The name of a failure's status code, such as `NOT_FOUND`. */
export function codeNameOf(reason: Reason): Exclude<keyof typeof status, 'OK'> {
  return status[FAILURES[reason].code] as Exclude<keyof typeof status, 'OK'>;
}

/** The service has reached a limit on its work. @param why a sentence */
export function overloadFailure(why: string): Failure<CallReason> {
  return new Failure<CallReason>('OVERLOADED', `The service is overloaded. ${why} Try again in a second.`);
}

/** What the client is told of an error: any but a `Failure` becomes `INTERNAL`, without detail. */
export function asFailure(error: unknown): Failure<Reason> {
  if (error instanceof Failure) return error as Failure<Reason>;
  return new Failure<CallReason>('INTERNAL', 'An internal error occurred.', { cause: error });
}

/** The maximum size of all trailers, in bytes: by default, nginx rejects a response with more than 4 KiB of them. */
export const TRAILERS_MAX_BYTES = 3_584;
/** An allowance for everything in the trailers but the request id, the message and the details, in bytes. */
const FIXED_BYTES = 128;
/** The trailer with the `google.rpc.Status` of a failure (AIP-193, google/rpc/status.proto). */
const STATUS_DETAILS = 'grpc-status-details-bin';
/** The trailer that tells a gRPC client how long to wait before it retries, in milliseconds (gRFC A6). */
const RETRY_PUSHBACK = 'grpc-retry-pushback-ms';

/** The reply for a failure: status, message, and a `google.rpc.Status` with as many violations as fit. */
export function statusReply(failure: Failure<Reason>, requestId: string): Reply {
  const { reason, message } = failure;
  const { code, retryMs } = FAILURES[reason];
  const trailers = new Metadata();
  trailers.set(REQUEST_ID, requestId);
  if (retryMs !== undefined) trailers.set(RETRY_PUSHBACK, String(retryMs));

  // The message is also sent in a trailer of its own, percent-encoded (gRPC over HTTP/2).
  const others = FIXED_BYTES + requestId.length + encodeURI(message).length;
  const encoded = encodeStatus(failure, requestId, bytesInBase64(TRAILERS_MAX_BYTES - others));
  trailers.set(STATUS_DETAILS, Buffer.from(encoded));
  return { code, details: message, trailers };
}

/** The most bytes whose Base64 has at most `length` characters. */
function bytesInBase64(length: number): number {
  return Math.floor((length * 3) / 4);
}

/** Encodes as many violations as fit, and counts the others. */
function encodeStatus(failure: Failure<Reason>, requestId: string, maxBytes: number): Uint8Array {
  const encode = (kept: number): Uint8Array => Status.encode(toStatus(failure, requestId, kept)).finish();
  let bytes = encode(failure.violations.length);
  if (bytes.length <= maxBytes) return bytes;

  let fits = 0;
  let tooMany = failure.violations.length;
  while (tooMany - fits > 1) {
    const middle = Math.floor((fits + tooMany) / 2);
    bytes = encode(middle);
    if (bytes.length <= maxBytes) fits = middle;
    else tooMany = middle;
  }
  return encode(fits);
}

function toStatus(failure: Failure<Reason>, requestId: string, kept: number): Status {
  const { reason, message, violations } = failure;
  const { code, retryMs = NEVER } = FAILURES[reason];
  const omitted = violations.length - kept;
  const metadata =
    omitted === 0 ? failure.metadata : { ...failure.metadata, violations_omitted: String(omitted) };

  const fieldViolations = violations
    .slice(0, kept)
    .map(({ field, description }) => ({ field, description, reason: '', localizedMessage: undefined }));

  const details = [any('ErrorInfo', ErrorInfo.encode({ reason, domain: DOMAIN, metadata }).finish())];
  if (kept > 0) details.push(any('BadRequest', BadRequest.encode({ fieldViolations }).finish()));
  if (retryMs !== NEVER) details.push(any('RetryInfo', encodeRetryInfo(retryMs)));
  details.push(any('RequestInfo', RequestInfo.encode({ requestId, servingData: '' }).finish()));

  return { code, message, details };
}

function encodeRetryInfo(delayMs: number): Uint8Array {
  const retryDelay = { seconds: BigInt(Math.floor(delayMs / 1_000)), nanos: (delayMs % 1_000) * 1_000_000 };
  return RetryInfo.encode({ retryDelay }).finish();
}

function any(name: string, bytes: Uint8Array): Status['details'][number] {
  return { typeUrl: `type.googleapis.com/google.rpc.${name}`, value: Buffer.from(bytes) };
}
