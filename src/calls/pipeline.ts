import { randomUUID } from 'node:crypto';
import { Metadata, status } from '@grpc/grpc-js';
import type { Caller } from '../auth/token.js';
import { REQUEST_ID_MAX, REQUEST_ID_SYNTAX } from '../registry/registry.js';
import type { Call, Reply } from './call.js';
import { CallError, type Reason } from './failures.js';
import type { HandlerContext, Method } from './method.js';
import { GUARD_ONLY, REQUEST_ID } from './metadata-keys.js';

/** A call on its way through the pipeline, which is also the context of its handler. */
export interface CallContext extends HandlerContext {
  readonly call: Call;
  /** Absent when no method has the path of the call. */
  readonly method: Method | undefined;
  /** Whether this is a guard-only call. */
  readonly asksGuard: boolean;
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
 * Handles one call. Synchronous if nothing has to be awaited, which saves such a call a turn of the event loop. Never
 * throws or rejects, as long as an outer interceptor catches what the inner ones throw.
 */
export type Pipeline = (call: Call) => Reply | Promise<Reply>;

/** Passes every call through the interceptors in order, then to its method. */
export function createPipeline(methods: readonly Method[], interceptors: readonly Interceptor[]): Pipeline {
  const methodOf = new Map(methods.map((method) => [method.path, method]));
  const walk = interceptors.reduceRight<Next>(
    (next, interceptor) => (context) => interceptor(context, next),
    run,
  );
  return (call) =>
    walk({
      call,
      method: methodOf.get(call.path),
      metadata: call.metadata,
      asksGuard: call.metadata.get(GUARD_ONLY).length > 0,
      requestId: requestIdOf(call.metadata.get(REQUEST_ID)[0]),
      caller: undefined,
      request: undefined,
      signal: { aborted: false },
      reason: undefined,
      fields: undefined,
    });
}

/** The client's id for a call if it is 1 to 128 visible ASCII characters, otherwise a new one. */
export function requestIdOf(given: unknown): string {
  if (typeof given !== 'string' || given.length > REQUEST_ID_MAX) return randomUUID();
  return REQUEST_ID_SYNTAX.test(given) ? given : randomUUID();
}

/** A successful reply. */
export function okReply(requestId: string, message: Uint8Array): Reply {
  const trailers = new Metadata();
  trailers.set(REQUEST_ID, requestId);
  return { code: status.OK, details: '', message, trailers };
}

function run(context: CallContext): Reply | Promise<Reply> {
  const { method, request, requestId } = context;
  if (method === undefined) throw new CallError('PATH_UNKNOWN', 'There is no method with this name.');
  const answer = method.handle(request, context);
  if (answer instanceof Promise) return answer.then((later) => okReply(requestId, later));
  return okReply(requestId, answer);
}
