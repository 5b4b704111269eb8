import { status } from '@grpc/grpc-js';
import type { Refusal } from '../auth/token.js';
import { DEADLINE_PASSED, RegistryError, type RegistryReason, type Violation } from '../registry/failure.js';

/** Why a call failed before it reached the registry, or on its way back. */
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
  | 'DEADLINE_EXCEEDED'
  | 'CANCELLED'
  | 'GUARD_PASSED'
  | 'INTERNAL';

/** The `reason` of an `ErrorInfo` (AIP-193): every failure that a client can see. */
export type Reason = RegistryReason | CallReason;

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
export const RETRY_DELAYS_MS: Partial<Record<Reason, number>> = { OVERLOADED: 1_000, SHUTTING_DOWN: 1_000 };

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
export interface CallFailure {
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
