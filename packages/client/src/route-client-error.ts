import { status } from '@grpc/grpc-js';
import { detailOf, type ErrorDetail } from './error-details.js';

/** The name of a gRPC status. */
export type StatusName = keyof typeof status;

/** A field that the service rejected. */
export interface FieldViolation {
  /** Path of the field in the request, for example `route.middleware[2]`. */
  readonly field: string;
  /** A sentence that names the value sent and the values allowed. */
  readonly description: string;
}

/** What names a call. */
export interface CallIds {
  /** The id of the call in the service's logs. */
  readonly requestId: string;
  /** The key with which a create is safe to repeat; undefined for other calls. */
  readonly idempotencyKey?: string | undefined;
}

/** Everything about a failed call. */
interface Failure extends CallIds {
  readonly code: number;
  readonly message: string;
  /** Of the response, if there was one. Default: none. */
  readonly details?: readonly ErrorDetail[];
  readonly cause?: unknown;
}

/** The only error of this client: every failed call rejects with it, whether or not the service responded. */
export class RouteClientError extends Error {
  override readonly name = 'RouteClientError';
  /** Number of the gRPC status, 1 to 16. */
  readonly code: number;
  /** Name of the gRPC status, for example `NOT_FOUND`; `UNKNOWN` for a number that gRPC does not define. */
  readonly status: StatusName;
  /**
   * The service's own reason for the failure, for example `ROUTE_NOT_FOUND`. Undefined if the service did not respond,
   * for example when the deadline passed on the client.
   */
  readonly reason: string | undefined;
  /** Further facts about the reason, for example the `route_id` of the route that already exists. */
  readonly metadata: Readonly<Record<string, string>>;
  /** The invalid fields; empty unless the status is `INVALID_ARGUMENT`. */
  readonly fieldViolations: readonly FieldViolation[];
  /** The id of the call in the service's logs. */
  readonly requestId: string;
  /** The key of a create, with which it is safe to repeat, also in another process; undefined for other calls. */
  readonly idempotencyKey: string | undefined;
  /** All error details in the response. */
  readonly details: readonly ErrorDetail[];

  /** For this package only. */
  constructor({ code, message, requestId, idempotencyKey, details = [], cause }: Failure) {
    super(message, { cause });
    this.code = code;
    this.status = (status[code] as StatusName | undefined) ?? 'UNKNOWN';
    this.details = details;
    const info = detailOf(this.details, 'google.rpc.ErrorInfo');
    this.reason = info?.reason;
    this.metadata = info?.metadata ?? {};
    const violations = detailOf(this.details, 'google.rpc.BadRequest')?.fieldViolations ?? [];
    this.fieldViolations = violations.map(({ field, description }) => ({ field, description }));
    this.requestId = detailOf(this.details, 'google.rpc.RequestInfo')?.requestId ?? requestId;
    this.idempotencyKey = idempotencyKey;
  }

  /** Everything except details and cause, for logs: details may hold values that JSON cannot express. */
  toJSON(): Record<string, unknown> {
    const { name, code, status, reason, message, metadata, fieldViolations } = this;
    const { requestId, idempotencyKey } = this;
    return {
      ...{ name, code, status, reason, message, metadata, fieldViolations },
      ...{ requestId, idempotencyKey },
    };
  }
}

/** The message of any thrown value. */
export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}
