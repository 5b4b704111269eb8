import { Metadata, status } from '@grpc/grpc-js';
import type { Refusal } from '../auth/token.js';
import { BadRequest, ErrorInfo, RequestInfo, RetryInfo } from '../gen/google/rpc/error_details.js';
import { Status } from '../gen/google/rpc/status.js';
import { protobufPackage as DOMAIN } from '../gen/routing/v1/route_service.js';
import { DEADLINE_PASSED, RegistryError, type Violation } from '../registry/failure.js';
import {
  type CallReason,
  type Reason,
  type Reply,
  REQUEST_ID,
  RETRY_PUSHBACK,
  STATUS_DETAILS,
} from './call.js';

/** The status code of each failure. */
export const CODES = {
  TOKEN_MISSING: status.UNAUTHENTICATED,
  TOKEN_INVALID: status.UNAUTHENTICATED,
  KEYS_UNAVAILABLE: status.UNAVAILABLE,
  SCOPE_MISSING: status.PERMISSION_DENIED,
  REQUEST_MALFORMED: status.INVALID_ARGUMENT,
  REQUEST_TOO_LARGE: status.RESOURCE_EXHAUSTED,
  PATH_UNKNOWN: status.UNIMPLEMENTED,
  SERVICE_UNKNOWN: status.NOT_FOUND,
  UNSUPPORTED: status.UNIMPLEMENTED,
  OVERLOADED: status.RESOURCE_EXHAUSTED,
  SHUTTING_DOWN: status.UNAVAILABLE,
  DEADLINE_EXCEEDED: status.DEADLINE_EXCEEDED,
  CANCELLED: status.CANCELLED,
  GUARD_PASSED: status.ABORTED,
  INTERNAL: status.INTERNAL,
  ROUTE_INVALID: status.INVALID_ARGUMENT,
  ROUTE_NOT_FOUND: status.NOT_FOUND,
  ROUTE_EXISTS: status.ALREADY_EXISTS,
  REQUEST_ID_REUSED: status.ALREADY_EXISTS,
  STORE_UNAVAILABLE: status.UNAVAILABLE,
} as const satisfies Record<Reason, status>;

/** How long a client should wait before it retries, in milliseconds. */
const RETRY_DELAYS_MS: Partial<Record<Reason, number>> = { OVERLOADED: 1_000, SHUTTING_DOWN: 1_000 };

/** A failure of the call itself. Its message is meant for the client; its `cause` is for the log only. */
export class CallError extends Error {
  override readonly name = 'CallError';
  readonly reason: CallReason;
  /** Machine-readable facts, sent as `ErrorInfo.metadata`. */
  readonly metadata: Readonly<Record<string, string>>;

  constructor(
    reason: CallReason,
    message: string,
    rest: { readonly metadata?: Readonly<Record<string, string>>; readonly cause?: unknown } = {},
  ) {
    super(message, rest.cause === undefined ? undefined : { cause: rest.cause });
    this.reason = reason;
    this.metadata = rest.metadata ?? {};
  }
}

/** The part of a failure that the client sees. */
interface CallFailure {
  readonly reason: Reason;
  readonly message: string;
  readonly metadata: Readonly<Record<string, string>>;
  readonly violations: readonly Violation[];
  /** The underlying error, for the log only. */
  readonly cause?: unknown;
}

/** The part of an error that the client sees. Errors that are not our own become `INTERNAL`, without any detail. */
export function toCallFailure(error: unknown): CallFailure {
  if (error instanceof RegistryError) return error;
  if (error instanceof CallError) {
    const { reason, message, metadata, cause } = error;
    return { reason, message, metadata, violations: [], cause };
  }
  return {
    reason: 'INTERNAL',
    message: 'An internal error occurred.',
    metadata: {},
    violations: [],
    cause: error,
  };
}

/** The authenticator refused the credential. */
export function notAdmitted({ reason, message, cause }: Refusal): CallError {
  return new CallError(reason, message, { cause });
}

/** The token is valid, but lacks the scope that the method declares; undefined for a method that declares none. */
export function scopeMissing(scope: string | undefined): CallError {
  if (scope === undefined) return new CallError('SCOPE_MISSING', 'No scope permits this method.');
  return new CallError('SCOPE_MISSING', `The token lacks the scope ${scope}.`, { metadata: { scope } });
}

/** The call's deadline passed, be it the client's or the service's. */
export function deadlineExceeded(): CallError {
  return new CallError('DEADLINE_EXCEEDED', DEADLINE_PASSED);
}

/** The client cancelled the call. */
export function cancelled(): CallError {
  return new CallError('CANCELLED', 'The caller cancelled the call.');
}

/** The guard admits a guard-only call, which must not look like a successful call of its method. */
export function guardPassed(): CallError {
  return new CallError('GUARD_PASSED', 'The guard admits this call, which asks for nothing else.');
}

/** The request message is larger than the service accepts. */
export function requestTooLarge(maxBytes: number): CallError {
  return new CallError('REQUEST_TOO_LARGE', `The request is larger than ${maxBytes} bytes.`);
}

/** The request has no message, or more than one. */
export function requestUnreadable(): CallError {
  return new CallError('REQUEST_MALFORMED', 'The request cannot be read.');
}

/** Too many streaming calls are open. On UNIMPLEMENTED, clients go on without a watch and assume a healthy service. */
export function watchUnsupported(): CallError {
  return new CallError('UNSUPPORTED', 'Too many streaming calls are open. Go on without a watch.');
}

/** The service has reached a limit on its work. @param why a sentence */
export function overloaded(why: string): CallError {
  return new CallError('OVERLOADED', `The service is overloaded. ${why} Try again in a second.`);
}

/** The service is stopping and ends a streaming call. */
export function shuttingDown(): CallError {
  return new CallError('SHUTTING_DOWN', 'The service is shutting down. Try again in a second.');
}

/** The maximum size of all trailers, in bytes: by default, nginx rejects a response with more than 4 KiB of them. */
export const TRAILERS_MAX_BYTES = 3_584;
/** An allowance for everything in the trailers but the request id, the message and the details, in bytes. */
const FIXED_BYTES = 128;
/** Tells clients not to retry (gRFC A6). Otherwise they would, since overload has the same status code. */
const NEVER_RETRY = -1;

/** Converts a failure to a reply: status, message, and a `google.rpc.Status` with as many violations as fit. */
export function failureReply(failure: CallFailure, requestId: string): Reply {
  const trailers = new Metadata();
  trailers.set(REQUEST_ID, requestId);
  const retryDelayMs = RETRY_DELAYS_MS[failure.reason];
  const pushbackMs = failure.reason === 'REQUEST_TOO_LARGE' ? NEVER_RETRY : retryDelayMs;
  if (pushbackMs !== undefined) trailers.set(RETRY_PUSHBACK, String(pushbackMs));
  // The message is also sent in a trailer of its own, percent-encoded (gRPC over HTTP/2).
  const others = FIXED_BYTES + requestId.length + encodeURI(failure.message).length;
  trailers.set(
    STATUS_DETAILS,
    Buffer.from(encodeStatus(failure, requestId, bytesInBase64(TRAILERS_MAX_BYTES - others))),
  );
  return { code: CODES[failure.reason], details: failure.message, trailers };
}

/** The most bytes whose Base64 fits in the given length. */
function bytesInBase64(length: number): number {
  return Math.floor((length * 3) / 4);
}

/** Encodes as many violations as fit, and counts the others. */
function encodeStatus(failure: CallFailure, requestId: string, maxBytes: number): Uint8Array {
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

function toStatus(failure: CallFailure, requestId: string, kept: number): Status {
  const { reason, message, violations } = failure;
  const omitted = violations.length - kept;
  const metadata =
    omitted === 0 ? failure.metadata : { ...failure.metadata, violations_omitted: String(omitted) };
  const fieldViolations = violations
    .slice(0, kept)
    .map(({ field, description }) => ({ field, description, reason: '', localizedMessage: undefined }));
  const details = [any('ErrorInfo', ErrorInfo.encode({ reason, domain: DOMAIN, metadata }).finish())];
  if (kept > 0) details.push(any('BadRequest', BadRequest.encode({ fieldViolations }).finish()));
  const retryDelayMs = RETRY_DELAYS_MS[reason];
  if (retryDelayMs !== undefined) details.push(any('RetryInfo', encodeRetryInfo(retryDelayMs)));
  details.push(any('RequestInfo', RequestInfo.encode({ requestId, servingData: '' }).finish()));
  return { code: CODES[reason], message, details };
}

function encodeRetryInfo(delayMs: number): Uint8Array {
  const retryDelay = { seconds: BigInt(Math.floor(delayMs / 1_000)), nanos: (delayMs % 1_000) * 1_000_000 };
  return RetryInfo.encode({ retryDelay }).finish();
}

function any(name: string, bytes: Uint8Array): Status['details'][number] {
  return { typeUrl: `type.googleapis.com/google.rpc.${name}`, value: Buffer.from(bytes) };
}
