import { randomUUID } from 'node:crypto';
import { Metadata, status } from '@grpc/grpc-js';
import type { Authenticator } from '../auth/authenticator.js';
import type { AuthResult } from '../auth/auth-result.js';
import { DEADLINE_PASSED, Failure } from '../registry/failure.js';
import { CLIENT_ID_MAX, CLIENT_ID_SYNTAX } from '../registry/registry.js';
import type { Limits } from '../settings/config.js';
import type { CallLog } from './call-log.js';
import {
  AUTH_ONLY,
  AUTHORIZATION,
  type Call,
  type CallContext,
  type CallReason,
  type Interceptor,
  type Method,
  type Next,
  type Reply,
  REQUEST_ID,
} from './call.js';
import { asFailure, FAILURES, statusReply } from './failures.js';
import { Limiter } from './limiter.js';

/**
 * Handles one call. Synchronous if nothing has to be awaited: a cached get takes a few microseconds, and a timer or a
 * promise for each step would cost more. Never throws or rejects, provided that observers do not throw.
 */
export type Pipeline = (call: Call) => Reply | Promise<Reply>;

/** What the steps need. */
export interface StepOptions extends Pick<
  Limits,
  'deadlineMs' | 'maxMessageBytes' | 'maxCalls' | 'maxWaitingCalls'
> {
  readonly authenticator: Authenticator;
  /** For the causes of failures. */
  readonly log: CallLog;
}

/**
 * The steps of every call before its method, outermost first. Some keep a state, such as the number of calls under way.
 * All pipelines of a process share one list of steps, so that each limit holds for both protocols together.
 */
export function createSteps(options: StepOptions): readonly Interceptor[] {
  return [
    // First: a call that has already ended is only observed.
    skipEnded,
    // Outside everything that may throw, so that any error becomes a status.
    sealFailures(options),
    // Before the guard, which may wait for keys.
    withDeadline(options),
    // Before the guard, so that calls that wait for it are bounded.
    limitCalls(options),
    guard(options),
    // After the guard: an auth-only call ends here.
    endAuthOnly,
    // After the guard: an unauthenticated client learns nothing about the validity of its message.
    decodeMessage(options),
    // Before the limit on waiting calls: a cached response waits for nothing.
    replyFromCache,
    // After the guard, which sets the caller: each caller has its own limit too.
    limitWaiting(options),
  ];
}

/**
 * Passes every call through the observers and the steps in order, then to its method.
 *
 * @param observers such as traces, metrics and the log, outermost first. They are outside the steps, and so see replies
 *   as clients get them. Default: none
 */
export function createPipeline(
  methods: readonly Method[],
  steps: readonly Interceptor[],
  observers: readonly Interceptor[] = [],
): Pipeline {
  const methodOf = new Map(methods.map((method) => [method.path, method]));
  const walk = [...observers, ...steps].reduceRight<Next>(
    (next, interceptor) => (context) => interceptor(context, next),
    runMethod,
  );

  return (call) => {
    const requestId = requestIdOf(call.metadata.get(REQUEST_ID)[0]);
    const trailers = new Metadata();
    trailers.set(REQUEST_ID, requestId);

    return walk({
      call,
      method: methodOf.get(call.path),
      metadata: call.metadata,
      authOnly: call.metadata.get(AUTH_ONLY).length > 0,
      requestId,
      caller: undefined,
      trailers,
      request: undefined,
      signal: { aborted: false },
      reason: undefined,
      fields: undefined,
    });
  };
}

/** The client's id for a call if it is 1 to 128 visible ASCII characters, otherwise a new id. */
export function requestIdOf(sent: unknown): string {
  if (typeof sent !== 'string' || sent.length > CLIENT_ID_MAX) return randomUUID();
  return CLIENT_ID_SYNTAX.test(sent) ? sent : randomUUID();
}

const skipEnded: Interceptor = (context, next) => {
  const { end } = context.call;
  if (end === undefined) return next(context);

  context.reason = end.reason;
  return { code: end.code, details: '', trailers: new Metadata() };
};

/** The log level for the cause of a failure; the causes of client errors matter only for debugging. */
const LEVELS: Partial<Record<status, 'error' | 'warn'>> = {
  [status.INTERNAL]: 'error',
  [status.UNAVAILABLE]: 'warn',
};

function sealFailures({ log }: StepOptions): Interceptor {
  function seal(context: CallContext, error: unknown): Reply {
    const { requestId } = context;
    const failure = asFailure(error);
    const { reason, message, cause } = failure;
    context.reason = reason;

    if (cause !== undefined) {
      const level = LEVELS[FAILURES[reason].code] ?? 'debug';
      log.writeCause(level, { requestId, reason, err: cause, ...context.fields }, message);
    }
    return statusReply(failure, requestId);
  }

  return (context, next) => {
    try {
      const reply = next(context);
      if (reply instanceof Promise) return reply.catch((error: unknown) => seal(context, error));
      return reply;
    } catch (error) {
      return seal(context, error);
    }
  };
}

function withDeadline({ deadlineMs }: StepOptions): Interceptor {
  return (context, next) => {
    const { deadline, cancellation } = context.call;
    const remainingMs = Math.min(deadline - performance.now(), deadlineMs);
    if (remainingMs <= 0) throw deadlineFailure();
    if (cancellation.cancelled) throw cancelFailure();

    const reply = next(context);
    return reply instanceof Promise ? replyWithin(remainingMs, context, reply) : reply;
  };
}

/** The reply, unless the deadline passes or the client cancels first. */
function replyWithin(
  remainingMs: number,
  { call, signal }: CallContext,
  reply: Promise<Reply>,
): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      signal.aborted = true;
      reject(deadlineFailure());
    }, remainingMs);
    call.cancellation.onCancelled(() => {
      signal.aborted = true;
      reject(cancelFailure());
    });

    void reply.then(resolve, reject).then(() => {
      clearTimeout(timer);
    });
  });
}

function deadlineFailure(): Failure {
  return new Failure('DEADLINE_EXCEEDED', DEADLINE_PASSED);
}

function cancelFailure(): Failure<CallReason> {
  return new Failure<CallReason>('CANCELLED', 'The caller cancelled the call.');
}

/** Limits all calls under way, including those answered from memory. */
function limitCalls({ maxCalls }: StepOptions): Interceptor {
  const underWay = new Limiter('calls under way', maxCalls);
  const release = (): void => {
    underWay.release();
  };

  return (context, next) => {
    // A health check is never refused.
    if (context.method?.access === 'public') return next(context);
    if (!underWay.acquire()) throw underWay.failure;

    let reply: Reply | Promise<Reply> | undefined;
    try {
      reply = next(context);
    } finally {
      if (reply instanceof Promise) void reply.then(release, release);
      else release();
    }
    return reply;
  };
}

function guard({ authenticator }: StepOptions): Interceptor {
  return (context, next) => {
    const { method, metadata, signal } = context;
    // An unknown method needs no token: the last step refuses the call.
    if (method === undefined || method.access === 'public') return next(context);
    const scope = method.access?.scope;

    const admit = (result: AuthResult): Reply | Promise<Reply> => {
      // The call was answered while the guard waited for keys, so this failure reaches nobody.
      if (signal.aborted) throw deadlineFailure();
      if (!result.ok) throw new Failure<CallReason>(result.reason, result.message, { cause: result.cause });
      const { caller } = result;
      // Before the scope is checked: the log line of a refused call names its caller, too.
      context.caller = caller;

      if (scope === undefined)
        throw new Failure<CallReason>('SCOPE_MISSING', 'No scope permits this method.');
      if (!caller.scopes.has(scope))
        throw new Failure<CallReason>('SCOPE_MISSING', `The token lacks the scope ${scope}.`, {
          metadata: { scope },
        });
      return next(context);
    };

    const result = authenticator.authenticate(String(metadata.get(AUTHORIZATION)[0] ?? ''));
    return result instanceof Promise ? result.then(admit) : admit(result);
  };
}

/** A call that the guard admits must not look like a successful call of its method. */
const endAuthOnly: Interceptor = (context, next) => {
  if (context.authOnly && context.method !== undefined)
    throw new Failure<CallReason>('GUARD_PASSED', 'The guard admits this call, which asks for nothing else.');
  return next(context);
};

function decodeMessage({ maxMessageBytes }: StepOptions): Interceptor {
  return (context, next) => {
    const { message } = context.call;
    if (message === undefined)
      throw new Failure<CallReason>('REQUEST_MALFORMED', 'The request cannot be read.');
    if (message.length > maxMessageBytes)
      throw new Failure<CallReason>(
        'REQUEST_TOO_LARGE',
        `The request is larger than ${maxMessageBytes} bytes.`,
      );

    context.request = context.method?.decode(message);
    return next(context);
  };
}

const replyFromCache: Interceptor = (context, next) => {
  const { method, request, trailers } = context;
  const message = method?.cachedResponse?.(request);
  return message === undefined ? next(context) : okReply(trailers, message);
};

/** Limits the calls that wait for the database: an overloaded service still completes the work that it can. */
function limitWaiting({ maxWaitingCalls }: StepOptions): Interceptor {
  const mostOfCaller = Math.floor(maxWaitingCalls / 2);
  const waiting = new Limiter('calls waiting', maxWaitingCalls, mostOfCaller);

  return (context, next) => {
    const { caller } = context;
    // A public method waits for nothing, and a call of an unknown method is refused at once.
    if (caller === undefined) return next(context);
    return waiting.run(caller.subject, () => next(context));
  };
}

function runMethod(context: CallContext): Reply | Promise<Reply> {
  const { method, request, trailers } = context;
  if (method === undefined)
    throw new Failure<CallReason>('PATH_UNKNOWN', 'There is no method with this name.');

  const message = method.handle(request, context);
  if (message instanceof Promise) return message.then((later) => okReply(trailers, later));
  return okReply(trailers, message);
}

function okReply(trailers: Metadata, message: Uint8Array): Reply {
  return { code: status.OK, details: '', message, trailers };
}
