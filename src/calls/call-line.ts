import { status } from '@grpc/grpc-js';
import type { Reply } from './call.js';
import { type CallLog, loggable } from './call-log.js';
import type { CallContext, Interceptor } from './pipeline.js';

/** Logs each call in one line; a question to the guard only if it is refused. */
export function logging({ log, now }: { readonly log: CallLog; readonly now: () => number }): Interceptor {
  function write(context: CallContext, started: number, reply: Reply): Reply {
    const { requestId, call, method, asksGuard, caller, reason } = context;
    if (asksGuard && reply.code === status.OK) return reply;
    const routine = method?.access === 'public';
    const refused = reply.code !== status.OK && !routine;
    const level = routine ? 'debug' : refused ? 'info' : log.answeredLevel;
    if (!log.writes(level)) return reply;
    const entry = {
      face: 'grpc',
      requestId,
      // A gRPC path has no query; one that is sent anyway may hold a token.
      path: loggable(call.path.replace(/\?.*$/s, '')),
      code: status[reply.code],
      reason,
      ms: Math.round(now() - started),
      sub: caller && loggable(caller.subject),
      ...context.fields,
    };
    if (refused) log.refused(caller === undefined, entry, 'call refused');
    else log.answered(level, entry, 'call answered');
    return reply;
  }
  return (context, next) => {
    const started = now();
    const reply = next(context);
    if (reply instanceof Promise) return reply.then((later) => write(context, started, later));
    return write(context, started, reply);
  };
}

/** Passes the caller to the gateway in this process, which logs the request. */
export const namingCaller: Interceptor = (context, next) => {
  const named = (reply: Reply): Reply => {
    const { caller } = context;
    if (caller === undefined) return reply;
    const { code, details, answered, message, trailers } = reply;
    return { code, details, answered, message, trailers, fields: { sub: loggable(caller.subject) } };
  };
  const reply = next(context);
  return reply instanceof Promise ? reply.then(named) : named(reply);
};
