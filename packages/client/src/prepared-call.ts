import { randomUUID } from 'node:crypto';
import {
  type DescMessage,
  type DescMethodUnary,
  fromBinary,
  type MessageShape,
  toBinary,
} from '@bufbuild/protobuf';
import { MethodOptions_IdempotencyLevel } from '@bufbuild/protobuf/wkt';
import { type Metadata, status } from '@grpc/grpc-js';
import { CallLimits } from './call-limits.js';
import { type CallOptions, checkOptions, type CreateOptions, isId } from './call-options.js';
import type { Request } from './connection.js';
import { type CallIds, messageOf, RouteClientError } from './route-client-error.js';
import { isObject } from './text.js';

/** One RPC method, with its conversions. */
export interface UnaryMethod<Input extends DescMessage, Output extends DescMessage, Result> {
  readonly method: DescMethodUnary<Input, Output>;
  /** @throws Error when a value cannot be sent */
  readonly request: (options: CreateOptions) => MessageShape<Input>;
  /** @throws Error when the response violates the contract; the call then fails with `INTERNAL` */
  readonly result: (answer: MessageShape<Output>, trailers: Metadata) => Result;
}

/** Whether a method may change something. */
export type Kind = 'reads' | 'writes';

/** A call that can be sent as often as needed. */
export interface Prepared<Result> extends Pick<Request, 'path' | 'message'> {
  readonly kind: Kind;
  readonly limits: CallLimits;
  readonly read: (answer: Buffer, trailers: Metadata) => Result;
}

/** What makes the calls of a client. */
export interface Caller {
  /** @throws RouteClientError whenever the call fails */
  call<Input extends DescMessage, Output extends DescMessage, Result>(
    method: UnaryMethod<Input, Output, Result>,
    options: CallOptions | undefined,
  ): Promise<Result>;
  /** Later calls fail with `UNAVAILABLE`. */
  close(): void;
}

/** The error of a call after `close`. */
export function closedError(ids: CallIds): RouteClientError {
  return new RouteClientError({ code: status.UNAVAILABLE, message: 'The client is closed.', ...ids });
}

/** @throws RouteClientError (`INVALID_ARGUMENT`) when an option or a value cannot be sent */
export function prepare<Input extends DescMessage, Output extends DescMessage, Result>(
  { method, request, result }: UnaryMethod<Input, Output, Result>,
  given: CallOptions | undefined,
): Prepared<Result> {
  const kind = method.idempotency === MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS ? 'reads' : 'writes';
  const requestId = idOf(given, 'requestId');
  const ids = kind === 'reads' ? { requestId } : { requestId, idempotencyKey: idOf(given, 'idempotencyKey') };
  try {
    const options = checkOptions(given);
    return {
      kind,
      path: `/${method.parent.typeName}/${method.name}`,
      message: Buffer.from(toBinary(method.input, request({ ...options, ...ids }))),
      read: readerOf(method.output, result, ids),
      limits: new CallLimits(options, ids),
    };
  } catch (cause) {
    throw new RouteClientError({ code: status.INVALID_ARGUMENT, message: messageOf(cause), ...ids, cause });
  }
}

/** An id of the caller's, or a new one in the place of none or a wrong one. */
function idOf(given: unknown, name: 'requestId' | 'idempotencyKey'): string {
  const id = isObject(given) ? given[name] : undefined;
  return isId(id) ? id : randomUUID();
}

function readerOf<Output extends DescMessage, Result>(
  schema: Output,
  result: (answer: MessageShape<Output>, trailers: Metadata) => Result,
  ids: CallIds,
): Prepared<Result>['read'] {
  return (answer, trailers) => {
    try {
      return result(fromBinary(schema, answer), trailers);
    } catch (cause) {
      const message = `The reply cannot be read: ${messageOf(cause)}`;
      throw new RouteClientError({ code: status.INTERNAL, message, ...ids, cause });
    }
  };
}
