import { status } from '@grpc/grpc-js';
import type { Logger } from 'pino';
import type { AuthResult } from '../auth/auth-result.js';
import type { Authenticator } from '../auth/authenticator.js';
import type { Reply } from './call.js';
import { failureReply } from './failure-reply.js';
import {
  CallError,
  CODES,
  cancelled,
  deadlineExceeded,
  MESSAGE_MAX_BYTES,
  requestTooLarge,
  toFailure,
} from './failures.js';
import { type CallContext, type Interceptor, okReply } from './pipeline.js';

/** Metadata of a call that only asks whether the guard lets it pass; the answer is the empty message. */
export const GUARD_ONLY_KEY = 'x-guard-only';
const EMPTY = new Uint8Array();
/** How loud the cause of a failure is in the log; that of a caller's own mistake helps only who debugs. */
const LEVELS: Partial<Record<status, 'error' | 'warn'>> = {
  [status.INTERNAL]: 'error',
  [status.UNAVAILABLE]: 'warn',
};

/** What the interceptors stand on. */
export interface InterceptorOptions {
  readonly authenticator: Authenticator;
  /** Longest time of one call, in milliseconds, whatever the caller's deadline. */
  readonly deadlineMs: number;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly logger: Logger;
}

/** What happens to every call before its method, outermost first. */
export function createInterceptors(options: InterceptorOptions): Interceptor[] {
  return [
    // Outside of all others, so that every answer is logged, as the caller gets it.
    logging(options),
    // Outside of all that may throw: whatever it was becomes a status.
    sealing(options),
    // Before the guard, which may wait for keys.
    limitingTime(options),
    // Before the message is looked at: a stranger learns nothing about it.
    guarding(options),
    // After the guard, so that a stranger's message is not even measured.
    limitingSize,
  ];
}

function logging({ logger, now }: InterceptorOptions): Interceptor {
  return async (context, next) => {
    const started = now();
    const reply = await next();
    const entry = {
      requestId: context.requestId,
      method: context.call.path,
      code: status[reply.code],
      durationMs: now() - started,
    };
    if (reply.code === status.OK) logger.debug(entry, 'call answered');
    else logger.info({ ...entry, reason: context.reason }, 'call refused');
    return reply;
  };
}

function sealing({ logger }: InterceptorOptions): Interceptor {
  return async (context, next) => {
    try {
      return await next();
    } catch (error) {
      const { requestId } = context;
      const failure = toFailure(error);
      context.reason = failure.reason;
      if (failure.cause !== undefined) {
        const level = LEVELS[CODES[failure.reason]] ?? 'debug';
        logger[level]({ requestId, reason: failure.reason, err: failure.cause }, failure.message);
      }
      return failureReply(failure, requestId);
    }
  };
}

function limitingTime({ deadlineMs, now }: InterceptorOptions): Interceptor {
  return async ({ call }, next) => {
    const leftMs = Math.min(call.deadline - now(), deadlineMs);
    if (leftMs <= 0) throw deadlineExceeded();
    if (call.signal.aborted) throw cancelled();
    return new Promise<Reply>((resolve, reject) => {
      const onAbort = (): void => {
        reject(cancelled());
      };
      const timer = setTimeout(() => {
        reject(deadlineExceeded());
      }, leftMs);
      call.signal.addEventListener('abort', onAbort, { once: true });
      next()
        .then(resolve, reject)
        .finally(() => {
          clearTimeout(timer);
          call.signal.removeEventListener('abort', onAbort);
        });
    });
  };
}

function guarding({ authenticator }: InterceptorOptions): Interceptor {
  return async (context, next) => {
    const { method, call, requestId } = context;
    if (method === undefined) return next();
    if (method.access !== 'public') {
      const result = await authenticator.authenticate(call.metadata.get('authorization').map(String));
      context.caller = permit(result, method.access?.scope);
    }
    return call.metadata.get(GUARD_ONLY_KEY).length > 0 ? okReply(requestId, EMPTY) : next();
  };
}

/** @throws CallError unless the token is good and its scopes hold the one that the method declares */
function permit(result: AuthResult, scope: string | undefined): CallContext['caller'] {
  if (!result.ok) throw new CallError(result.reason, result.message, { cause: result.cause });
  if (scope === undefined) throw new CallError('SCOPE_MISSING', 'No scope permits this method.');
  if (result.caller.scopes.has(scope)) return result.caller;
  throw new CallError('SCOPE_MISSING', `The token lacks the scope ${scope}.`, { metadata: { scope } });
}

const limitingSize: Interceptor = ({ call }, next) => {
  if (call.message.length <= MESSAGE_MAX_BYTES) return next();
  throw requestTooLarge();
};
