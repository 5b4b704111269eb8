import { randomUUID } from 'node:crypto';
import { Metadata, status } from '@grpc/grpc-js';
import type { Authenticator } from '../auth/authenticator.js';
import type { AuthResult } from '../auth/token.js';
import { DEADLINE_PASSED, Failure } from '../registry/failure.js';
import { REQUEST_ID_MAX, REQUEST_ID_SYNTAX } from '../registry/registry.js';
import type { Limits } from '../settings/config.js';
import type { CallLog } from './call-log.js';
import {
  AUTHORIZATION,
  type Call,
  type CallContext,
  type CallReason,
  AUTH_ONLY,
  type Interceptor,
  type Method,
  type Next,
  type Reply,
  REQUEST_ID,
} from './call.js';
import { asFailure, FAILURES, overloaded, statusReply } from './failures.js';

/**
 * Handles one call. Synchronous if nothing has to be awaited: a cached get takes a few microseconds, and a timer or a
 * promise for each step would cost more. Never throws or rejects.
 */
export type Pipeline = (call: Call) => Reply | Promise<Reply>;

export interface PipelineOptions extends Pick<Limits, 'deadlineMs' | 'maxMessageBytes'> {
  readonly authenticator: Authenticator;
  readonly admission: Admission;
  /** For the causes of failures. */
  readonly log: CallLog;
  /** Observers of every call, such as traces, metrics and the log, outermost first. Default: none. */
  readonly observers?: readonly Interceptor[];
}

/** Passes every call through the interceptors in order, then to its method. */
export function createPipeline(methods: readonly Method[], options: PipelineOptions): Pipeline {
  const methodOf = new Map(methods.map((method) => [method.path, method]));
  const walk = interceptorsOf(options).reduceRight<Next>(
    (next, interceptor) => (context) => interceptor(context, next),
    run,
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

/** The client's id for a call if it is 1 to 128 visible ASCII characters, otherwise a new one. */
export function requestIdOf(given: unknown): string {
  if (typeof given !== 'string' || given.length > REQUEST_ID_MAX) return randomUUID();
  return REQUEST_ID_SYNTAX.test(given) ? given : randomUUID();
}

/** The steps of every call before its method, outermost first. */
function interceptorsOf(options: PipelineOptions): Interceptor[] {
  return [
    // Outside all others: observers see replies as clients get them.
    ...(options.observers ?? []),
    // Behind the observers, which are all that such a call is for.
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

function sealFailures({ log }: PipelineOptions): Interceptor {
  function seal(context: CallContext, error: unknown): Reply {
    const { requestId } = context;
    const failure = asFailure(error);
    const { reason, message, cause } = failure;
    context.reason = reason;
    if (cause !== undefined) {
      const level = LEVELS[FAILURES[reason].code] ?? 'debug';
      log.cause(level, { requestId, reason, err: cause, ...context.fields }, message);
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

function withDeadline({ deadlineMs }: PipelineOptions): Interceptor {
  return (context, next) => {
    const { deadline, cancellation } = context.call;
    const leftMs = Math.min(deadline - performance.now(), deadlineMs);
    if (leftMs <= 0) throw deadlinePassed();
    if (cancellation.cancelled) throw cancelled();
    const reply = next(context);
    return reply instanceof Promise ? within(leftMs, context, reply) : reply;
  };
}

/** The reply, unless the deadline passes or the client cancels first. */
function within(leftMs: number, { call, signal }: CallContext, reply: Promise<Reply>): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      signal.aborted = true;
      reject(deadlinePassed());
    }, leftMs);
    call.cancellation.onCancelled(() => {
      signal.aborted = true;
      reject(cancelled());
    });
    void reply.then(resolve, reject).then(() => {
      clearTimeout(timer);
    });
  });
}

function deadlinePassed(): Failure {
  return new Failure('DEADLINE_EXCEEDED', DEADLINE_PASSED);
}

function cancelled(): Failure<CallReason> {
  return new Failure<CallReason>('CANCELLED', 'The caller cancelled the call.');
}

function limitCalls({ admission: { underWay } }: PipelineOptions): Interceptor {
  const release = (): void => {
    underWay.release();
  };
  return (context, next) => {
    // A health check is never refused.
    if (context.method?.access === 'public') return next(context);
    const refusal = underWay.acquire();
    if (refusal !== undefined) throw overloaded(refusal);
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

function guard({ authenticator }: PipelineOptions): Interceptor {
  return (context, next) => {
    const { method, call } = context;
    if (method === undefined || method.access === 'public') return next(context);
    const scope = method.access?.scope;
    const admit = (result: AuthResult): Reply | Promise<Reply> => {
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
    const result = authenticator.authenticate(String(call.metadata.get(AUTHORIZATION)[0] ?? ''));
    return result instanceof Promise ? result.then(admit) : admit(result);
  };
}

/** A call that the guard admits must not look like a successful call of its method. */
const endAuthOnly: Interceptor = (context, next) => {
  if (context.authOnly && context.method !== undefined)
    throw new Failure<CallReason>('GUARD_PASSED', 'The guard admits this call, which asks for nothing else.');
  return next(context);
};

function decodeMessage({ maxMessageBytes }: PipelineOptions): Interceptor {
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
  const message = method?.cached?.(request);
  return message === undefined ? next(context) : okReply(trailers, message);
};

function limitWaiting({ admission: { waiting } }: PipelineOptions): Interceptor {
  return (context, next) => {
    const { caller } = context;
    return caller === undefined ? next(context) : waiting.run(caller.subject, () => next(context));
  };
}

/** The last step: the method itself. */
function run(context: CallContext): Reply | Promise<Reply> {
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

/** Limits how much is in progress at the same time, in all and for each key. */
export class Limiter {
  readonly #what: string;
  readonly #most: number;
  readonly #mostOfKey: number;
  readonly #ofKey = new Map<string, number>();
  #count = 0;

  /**
   * @param what is limited, for messages: `calls waiting`
   * @param mostOfKey the most of one key, which is a caller or a connection; default: no limit of its own
   */
  constructor(what: string, most: number, mostOfKey = most) {
    this.#what = what;
    this.#most = most;
    this.#mostOfKey = mostOfKey;
  }

  /**
   * Takes a place, which must be released with the same key.
   *
   * @returns undefined, or in a sentence why there is no place
   */
  acquire(key?: string): string | undefined {
    if (this.#count >= this.#most) return `It has ${this.#most} ${this.#what}.`;
    if (key !== undefined) {
      const own = this.#ofKey.get(key) ?? 0;
      if (own >= this.#mostOfKey) return `The caller has ${own} ${this.#what}.`;
      this.#ofKey.set(key, own + 1);
    }
    this.#count++;
    return undefined;
  }

  release(key?: string): void {
    this.#count--;
    if (key === undefined) return;
    const left = Number(this.#ofKey.get(key)) - 1;
    if (left > 0) this.#ofKey.set(key, left);
    else this.#ofKey.delete(key);
  }

  /**
   * Holds a place until the work is done.
   *
   * @throws Failure `OVERLOADED`, before the work begins
   */
  async run<T>(key: string, work: () => T | Promise<T>): Promise<T> {
    const refusal = this.acquire(key);
    if (refusal !== undefined) throw overloaded(refusal);
    try {
      return await work();
    } finally {
      this.release(key);
    }
  }
}

/**
 * The limits on calls, with which an overloaded service still completes the work that it can. A call served from memory
 * is only under way; one that waits for the database also holds a place there, of which a caller has at most half.
 */
export class Admission {
  readonly underWay: Limiter;
  readonly waiting: Limiter;

  constructor({ maxCalls, maxWaitingCalls }: Pick<Limits, 'maxCalls' | 'maxWaitingCalls'>) {
    this.underWay = new Limiter('calls under way', maxCalls);
    this.waiting = new Limiter('calls waiting', maxWaitingCalls, Math.floor(maxWaitingCalls / 2));
  }
}

/**
 * Collects the items of one turn of the event loop, and acts on all of them once its sockets are read, then on those
 * that were added meanwhile. Sending responses back to back costs about half as much as sending them between requests
 * (decision 13); with an immediate for each item, promises would run between them, and a get would cost a sixth more.
 */
export class ImmediateBatch<Item> {
  readonly #act: (item: Item) => void;
  #due: Item[] = [];

  /** @param act called with each item; if it throws, the error is uncaught, but only after all items of the turn */
  constructor(act: (item: Item) => void) {
    this.#act = act;
  }

  add(item: Item): void {
    if (this.#due.push(item) > 1) return;
    setImmediate(() => {
      this.#actOnAll();
    });
  }

  #actOnAll(): void {
    for (const item of this.#due) {
      try {
        this.#act(item);
      } catch (error) {
        // One turn later, once the output for the other items has been sent.
        setImmediate(() => {
          throw error;
        });
      }
    }
    this.#due = [];
  }
}
