import { type Metadata, status } from '@grpc/grpc-js';
import { detailOf, detailsIn, type ErrorDetail } from './error-details.js';

/** The name of a gRPC status. */
export type StatusName = keyof typeof status;

/** A field that the service rejected. */
export interface FieldViolation {
  /** Path of the field in the request, for example `route.middleware[2]`. */
  readonly field: string;
  /** A sentence that names the value sent and the values allowed. */
  readonly description: string;
}

/** Everything about a failed call. */
interface Failure {
  readonly code: number;
  readonly message: string;
  /** The id that the client assigned to the call. */
  readonly requestId: string;
  /** The trailers of the response, if there was one. */
  readonly trailers?: Metadata | undefined;
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
  /** The id of the call in the service's logs. A create may be retried with this id. */
  readonly requestId: string;
  /** All error details in the response. */
  readonly details: readonly ErrorDetail[];

  /** For this package only. */
  constructor({ code, message, requestId, trailers, cause }: Failure) {
    super(message, { cause });
    this.code = code;
    this.status = (status[code] as StatusName | undefined) ?? 'UNKNOWN';
    this.details = trailers === undefined ? [] : detailsIn(trailers);
    const info = detailOf(this.details, 'google.rpc.ErrorInfo');
    this.reason = info?.reason;
    this.metadata = info?.metadata ?? {};
    const violations = detailOf(this.details, 'google.rpc.BadRequest')?.fieldViolations ?? [];
    this.fieldViolations = violations.map(({ field, description }) => ({ field, description }));
    this.requestId = detailOf(this.details, 'google.rpc.RequestInfo')?.requestId ?? requestId;
  }

  /** Everything except details and cause, for logs: details may hold values that JSON cannot express. */
  toJSON(): Record<string, unknown> {
    const { name, code, status, reason, message, metadata, fieldViolations, requestId } = this;
    return { name, code, status, reason, message, metadata, fieldViolations, requestId };
  }
}

/** The message of any thrown value. */
export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}
