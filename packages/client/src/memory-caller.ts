import { randomUUID } from 'node:crypto';
import {
  create,
  type DescMessage,
  equals,
  fromBinary,
  type MessageShape,
  toBinary,
} from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { Metadata, status } from '@grpc/grpc-js';
import type { CallOptions } from './call-options.js';
import type { ErrorDetail } from './error-details.js';
import { BadRequestSchema, ErrorInfoSchema, RequestInfoSchema } from './gen/google/rpc/error_details_pb.js';
import {
  type CreateRouteRequest,
  CreateRouteRequestSchema,
  GetRouteRequestSchema,
  type Route as RouteMessage,
  RouteSchema,
} from './gen/routing/v1/route_service_pb.js';
import { type Caller, closedError, type Prepared, prepare, type UnaryMethod } from './prepared-call.js';
import {
  type CallIds,
  type FieldViolation,
  RouteClientError,
  type StatusName,
} from './route-client-error.js';
import { REPLAYED } from './route-client.js';

/** The status of each reason with which the service fails over gRPC (docs/errors.md). */
export const STATUS_OF_REASON = {
  TOKEN_MISSING: 'UNAUTHENTICATED',
  TOKEN_INVALID: 'UNAUTHENTICATED',
  SCOPE_MISSING: 'PERMISSION_DENIED',
  ROUTE_INVALID: 'INVALID_ARGUMENT',
  REQUEST_MALFORMED: 'INVALID_ARGUMENT',
  REQUEST_TOO_LARGE: 'RESOURCE_EXHAUSTED',
  ROUTE_NOT_FOUND: 'NOT_FOUND',
  SERVICE_UNKNOWN: 'NOT_FOUND',
  UNSUPPORTED: 'UNIMPLEMENTED',
  PATH_UNKNOWN: 'UNIMPLEMENTED',
  ROUTE_EXISTS: 'ALREADY_EXISTS',
  REQUEST_ID_REUSED: 'ALREADY_EXISTS',
  STORE_UNAVAILABLE: 'UNAVAILABLE',
  KEYS_UNAVAILABLE: 'UNAVAILABLE',
  OVERLOADED: 'RESOURCE_EXHAUSTED',
  SHUTTING_DOWN: 'UNAVAILABLE',
  DEADLINE_EXCEEDED: 'DEADLINE_EXCEEDED',
  GUARD_PASSED: 'ABORTED',
  CANCELLED: 'CANCELLED',
  INTERNAL: 'INTERNAL',
} as const satisfies Readonly<Record<string, StatusName>>;

/** How a call fails. */
export type ScriptedFailure = {
  /** Default: one that names the reason or status. */
  readonly message?: string;
  /** Whether a create is stored all the same, as when the connection is lost after it. Default: false. */
  readonly afterStoring?: boolean;
} & (
  | {
      /** The service's reason, which also decides the status. */
      readonly reason: keyof typeof STATUS_OF_REASON;
      /** Facts about the reason, such as `route_id`. Default: none. */
      readonly metadata?: Readonly<Record<string, string>>;
      /** Default: none. */
      readonly fieldViolations?: readonly FieldViolation[];
    }
  | {
      /** The status of a failure in which the service gave no reason, such as a lost connection. */
      readonly status: Exclude<StatusName, 'OK'>;
    }
);

interface Answer {
  readonly route: RouteMessage;
  readonly replayed?: boolean;
}

/** Answers the calls of a client from memory, as the service does that takes every field. */
export class MemoryCaller implements Caller {
  /** In the order of creation. */
  readonly stored = new Map<string, RouteMessage>();
  readonly #ofKeys = new Map<string, RouteMessage>();
  readonly #script: ScriptedFailure[] = [];
  #closed = false;

  failNext(failure: ScriptedFailure): void {
    this.#script.push(failure);
  }

  async call<Input extends DescMessage, Output extends DescMessage, Result>(
    method: UnaryMethod<Input, Output, Result>,
    options: CallOptions | undefined,
  ): Promise<Result> {
    const call = prepare(method, options);
    const { ids } = call.limits;
    try {
      if (this.#closed) throw closedError(ids);
      // Fails if the signal is aborted, and lets others run first, as a call over a network does.
      await call.limits.waitFor(Promise.resolve());
      const failure = this.#script.shift();
      if (failure !== undefined && failure.afterStoring !== true) throw scripted(failure, ids);
      const { route, replayed = false } = this.#answer(call);
      if (failure !== undefined) throw scripted(failure, ids);
      const trailers = new Metadata();
      if (replayed) trailers.set(REPLAYED, 'true');
      return call.read(Buffer.from(toBinary(RouteSchema, route)), trailers);
    } finally {
      call.limits.release();
    }
  }

  close(): void {
    this.#closed = true;
  }

  #answer<Result>({ kind, message, limits }: Prepared<Result>): Answer {
    return kind === 'writes'
      ? this.#create(fromBinary(CreateRouteRequestSchema, message), limits.ids)
      : this.#get(fromBinary(GetRouteRequestSchema, message).routeId, limits.ids);
  }

  #create({ route: definition, requestId: key, validateOnly }: CreateRouteRequest, ids: CallIds): Answer {
    const checked = create(RouteSchema, definition);
    const first = this.#ofKeys.get(key);
    if (first !== undefined && !equals(RouteSchema, checked, definitionOf(first)))
      throw scripted({ reason: 'REQUEST_ID_REUSED', metadata: { route_id: first.id } }, ids);
    if (validateOnly) return { route: checked };
    if (first !== undefined) return { route: first, replayed: true };
    const createdAt = timestampFromDate(new Date());
    const route = create(RouteSchema, { ...checked, id: randomUUID(), createdAt });
    this.stored.set(route.id, route);
    this.#ofKeys.set(key, route);
    return { route };
  }

  #get(id: string, ids: CallIds): Answer {
    const route = this.stored.get(id);
    if (route === undefined) throw scripted({ reason: 'ROUTE_NOT_FOUND' }, ids);
    return { route };
  }
}

function definitionOf({ method, path, middleware, handler }: RouteMessage): MessageShape<typeof RouteSchema> {
  return create(RouteSchema, { method, path, middleware, handler });
}

/** The error with the details that the service sends. */
function scripted(failure: ScriptedFailure, ids: CallIds): RouteClientError {
  if (!('reason' in failure)) {
    const { status: name, message = `The call failed with ${name}.` } = failure;
    return new RouteClientError({ code: status[name], message, ...ids });
  }
  const { reason, metadata = {}, fieldViolations = [], message = `The call failed: ${reason}.` } = failure;
  const details: ErrorDetail[] = [
    create(ErrorInfoSchema, { reason, domain: 'routing.v1', metadata: { ...metadata } }),
    create(RequestInfoSchema, { requestId: ids.requestId }),
  ];
  if (fieldViolations.length > 0)
    details.splice(1, 0, create(BadRequestSchema, { fieldViolations: [...fieldViolations] }));
  return new RouteClientError({ code: status[STATUS_OF_REASON[reason]], message, details, ...ids });
}
