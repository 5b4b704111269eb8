import { randomUUID } from 'node:crypto';
import { Metadata, status } from '@grpc/grpc-js';
import type { Authenticator } from '../auth/authenticator.js';
import type { AuthResult, Caller } from '../auth/token.js';
import { REQUEST_ID_MAX, REQUEST_ID_SYNTAX } from '../registry/registry.js';
import type { CallLog } from './call-log.js';
import {
  AUTHORIZATION,
  type Call,
  type CallContext,
  GUARD_ONLY,
  type Interceptor,
  type Method,
  type Next,
  type Reply,
  REQUEST_ID,
} from './call.js';
import {
  CallError,
  cancelled,
  CODES,
  deadlineExceeded,
  failureReply,
  guardPassed,
  notAdmitted,
  overloaded,
  requestTooLarge,
  requestUnreadable,
  scopeMissing,
  toCallFailure,
} from './failures.js';

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
function okReply(requestId: string, message: Uint8Array): Reply {
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

/** The limits on the work that a process accepts. */
export interface AdmissionLimits {
  /** Calls in progress. */
  readonly maxCalls: number;
  /** Calls waiting for the database. One caller gets at most half of these places. */
  readonly maxWaitingCalls: number;
}

/**
 * Limits the work in progress, so that an overloaded service still completes the work that it can. A call served from
 * memory only counts as in progress; a call that waits for the database also holds a place while it waits.
 */
export class Admission {
  readonly #limits: AdmissionLimits;
  readonly #waitingOf = new Map<string, number>();
  #calls = 0;
  #waiting = 0;

  constructor(limits: AdmissionLimits) {
    this.#limits = limits;
  }

  /**
   * Counts a call until `leave`.
   *
   * @throws CallError `OVERLOADED`
   */
  enter(): void {
    const { maxCalls } = this.#limits;
    if (this.#calls >= maxCalls) throw overloaded(`It has ${maxCalls} calls under way.`);
    this.#calls++;
  }

  leave(): void {
    this.#calls--;
  }

  /**
   * Runs work that waits for the database, and holds a place until the work is done.
   *
   * @param caller the caller whose work it is; each caller gets at most half of the places
   * @throws CallError `OVERLOADED`, before the work begins
   */
  async wait<T>(caller: string, work: () => T | Promise<T>): Promise<T> {
    const own = this.#waitingOf.get(caller) ?? 0;
    this.#check(own);
    this.#waiting++;
    this.#waitingOf.set(caller, own + 1);
    try {
      return await work();
    } finally {
      this.#waiting--;
      const left = Number(this.#waitingOf.get(caller)) - 1;
      if (left > 0) this.#waitingOf.set(caller, left);
      else this.#waitingOf.delete(caller);
    }
  }

  #check(own: number): void {
    const { maxWaitingCalls } = this.#limits;
    const share = Math.floor(maxWaitingCalls / 2);
    if (this.#waiting >= maxWaitingCalls) throw overloaded(`It has ${maxWaitingCalls} calls waiting.`);
    if (own >= share) throw overloaded(`The caller has ${share} calls waiting.`);
  }
}
