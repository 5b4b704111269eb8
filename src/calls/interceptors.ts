import { Metadata, status } from '@grpc/grpc-js';
import type { AuthResult, Caller } from '../auth/token.js';
import type { Authenticator } from '../auth/authenticator.js';
import type { Admission } from './admission.js';
import type { Reply } from './call.js';
import type { CallLog } from './call-log.js';
import { failureReply } from './failure-reply.js';
import {
  CODES,
  cancelled,
  deadlineExceeded,
  guardPassed,
  notAdmitted,
  requestTooLarge,
  requestUnreadable,
  scopeMissing,
  toCallFailure,
} from './failures.js';
import { AUTHORIZATION } from './metadata-keys.js';
import { type CallContext, type Interceptor, okReply } from './pipeline.js';

/** The log level for the cause of a failure; the causes of client errors matter only for debugging. */
const LEVELS: Partial<Record<status, 'error' | 'warn'>> = {
  [status.INTERNAL]: 'error',
  [status.UNAVAILABLE]: 'warn',
};

/** The parts that the interceptors depend on. */
export interface InterceptorOptions {
  readonly authenticator: Authenticator;
  readonly admission: Admission;
  /** The time limit of one call, in milliseconds, whatever the client's deadline. */
  readonly deadlineMs: number;
  /** The largest request message, in bytes. */
  readonly maxMessageBytes: number;
  /** For the causes of failures. */
  readonly log: CallLog;
  /** Observers of every call, such as traces, metrics and the log, outermost first. Default: none. */
  readonly observers?: readonly Interceptor[];
}

/** The steps of every call before its method, outermost first. */
export function createInterceptors(options: InterceptorOptions): Interceptor[] {
  return [
    // Outside all others: observers see replies as clients get them.
    ...(options.observers ?? []),
    // Behind the observers, which are all that such a call is for.
    leavingEnded,
    // Outside everything that may throw, so that any error becomes a status.
    sealing(options),
    // Before the guard, which may wait for keys.
    limitingTime(options),
    // Before the guard, so that calls that wait for it are bounded.
    limitingCalls(options),
    guarding(options),
    // After the guard: a guard-only call ends here.
    endingAfterGuard,
    // After the guard: an unauthenticated client learns nothing about the validity of its message.
    decodingMessage(options),
    // Before the limit on waiting calls: a cached response waits for nothing.
    answeringFromMemory,
    // After the guard, which sets the caller: each caller has its own limit too.
    limitingWaiting(options),
  ];
}

const leavingEnded: Interceptor = (context, next) => {
  const { end } = context.call;
  if (end === undefined) return next(context);
  context.reason = end.reason;
  return { code: end.code, details: '', trailers: new Metadata() };
};

function sealing({ log }: InterceptorOptions): Interceptor {
  function seal(context: CallContext, error: unknown): Reply {
    const { requestId } = context;
    const failure = toCallFailure(error);
    context.reason = failure.reason;
    if (failure.cause !== undefined) {
      const level = LEVELS[CODES[failure.reason]] ?? 'debug';
      const entry = { requestId, reason: failure.reason, err: failure.cause, ...context.fields };
      log.cause(level, entry, failure.message);
    }
    return failureReply(failure, requestId);
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

function limitingTime({ deadlineMs }: InterceptorOptions): Interceptor {
  return (context, next) => {
    const { deadline, cancellation } = context.call;
    const leftMs = Math.min(deadline - performance.now(), deadlineMs);
    if (leftMs <= 0) throw deadlineExceeded();
    if (cancellation.cancelled) throw cancelled();
    const reply = next(context);
    return reply instanceof Promise ? within(leftMs, context, reply) : reply;
  };
}

/** The reply, unless the deadline passes or the client cancels first. */
function within(leftMs: number, { call, signal }: CallContext, reply: Promise<Reply>): Promise<Reply> {
  const { cancellation } = call;
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      signal.aborted = true;
      reject(deadlineExceeded());
    }, leftMs);
    cancellation.onCancelled(() => {
      signal.aborted = true;
      reject(cancelled());
    });
    void reply.then(resolve, reject).then(() => {
      clearTimeout(timer);
    });
  });
}

function limitingCalls({ admission }: InterceptorOptions): Interceptor {
  const leave = (): void => {
    admission.leave();
  };
  return (context, next) => {
    // A health check is never refused.
    if (context.method?.access === 'public') return next(context);
    admission.enter();
    let reply: Reply | Promise<Reply> | undefined;
    try {
      reply = next(context);
    } finally {
      if (reply instanceof Promise) void reply.then(leave, leave);
      else leave();
    }
    return reply;
  };
}

function guarding({ authenticator }: InterceptorOptions): Interceptor {
  return (context, next) => {
    const { method, call } = context;
    if (method === undefined || method.access === 'public') return next(context);
    const scope = method.access?.scope;
    const admit = (result: AuthResult): Reply | Promise<Reply> => {
      if (!result.ok) throw notAdmitted(result);
      // Before the scope is checked: the log line of a refused call names its caller, too.
      context.caller = result.caller;
      requireScope(result.caller, scope);
      return next(context);
    };
    const result = authenticator.authenticate(String(call.metadata.get(AUTHORIZATION)[0] ?? ''));
    return result instanceof Promise ? result.then(admit) : admit(result);
  };
}

/** @throws CallError unless the caller has the scope that the method declares */
function requireScope({ scopes }: Caller, scope: string | undefined): void {
  if (scope === undefined || !scopes.has(scope)) throw scopeMissing(scope);
}

const endingAfterGuard: Interceptor = (context, next) => {
  if (context.asksGuard && context.method !== undefined) throw guardPassed();
  return next(context);
};

function decodingMessage({ maxMessageBytes }: InterceptorOptions): Interceptor {
  return (context, next) => {
    const { message } = context.call;
    if (message === undefined) throw requestUnreadable();
    if (message.length > maxMessageBytes) throw requestTooLarge(maxMessageBytes);
    context.request = context.method?.decode(message);
    return next(context);
  };
}

const answeringFromMemory: Interceptor = (context, next) => {
  const { method, request, requestId } = context;
  const answer = method?.recall?.(request);
  return answer === undefined ? next(context) : okReply(requestId, answer);
};

function limitingWaiting({ admission }: InterceptorOptions): Interceptor {
  return (context, next) => {
    const { caller } = context;
    return caller === undefined ? next(context) : admission.wait(caller.subject, () => next(context));
  };
}
