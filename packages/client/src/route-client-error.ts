import { status } from '@grpc/grpc-js';
import { detailOf, type ErrorDetail } from './error-details.js';
import { describeValue } from './input.js';

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

/** What a failed call is told by. */
export interface RouteClientErrorInit extends Partial<CallIds> {
  /** The gRPC status: its name, such as `NOT_FOUND`, or its number, 1 to 16. */
  readonly code: StatusName | number;
  readonly message: string;
  /** Of the response. Default: none. These three default to what they hold. */
  readonly details?: readonly ErrorDetail[] | undefined;
  readonly reason?: string | undefined;
  readonly metadata?: Readonly<Record<string, string>> | undefined;
  readonly fieldViolations?: readonly FieldViolation[] | undefined;
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
  /** The id of the call in the service's logs; empty if a fake gave none. */
  readonly requestId: string;
  /** The key of a create, with which it is safe to repeat, also in another process; undefined for other calls. */
  readonly idempotencyKey: string | undefined;
  /** All error details in the response. */
  readonly details: readonly ErrorDetail[];

  /**
   * For fakes of a `RouteClient`, too: `new RouteClientError({ code: 'NOT_FOUND', message: 'No such route.' })`.
   *
   * @throws RangeError when gRPC has no status of that name
   */
  constructor({ code, message, details = [], cause, ...facts }: RouteClientErrorInit) {
    super(message, { cause });
    this.code = typeof code === 'number' ? code : numberOf(code);
    this.status = (status[this.code] as StatusName | undefined) ?? 'UNKNOWN';
    this.details = details;
    const info = detailOf(details, 'google.rpc.ErrorInfo');
    this.reason = facts.reason ?? info?.reason;
    this.metadata = facts.metadata ?? info?.metadata ?? {};
    const violations = facts.fieldViolations ?? detailOf(details, 'google.rpc.BadRequest')?.fieldViolations;
    this.fieldViolations = (violations ?? []).map(({ field, description }) => ({ field, description }));
    this.requestId = detailOf(details, 'google.rpc.RequestInfo')?.requestId ?? facts.requestId ?? '';
    this.idempotencyKey = facts.idempotencyKey;
  }

  /** Everything except details and cause, for logs: details may hold values that JSON cannot express. */
  toJSON(): Record<string, unknown> {
    return Object.assign({}, this, { message: this.message, details: undefined });
  }
}

function numberOf(name: StatusName): number {
  const code: unknown = status[name];
  if (typeof code !== 'number') throw new RangeError(`There is no gRPC status ${describeValue(name)}.`);
  return code;
}

/** The message of any thrown value. */
export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}
