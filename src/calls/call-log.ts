import { status } from '@grpc/grpc-js';
import type { Logger } from 'pino';
import { escapeInvisible } from '../registry/text.js';
import type { Config } from '../settings/config.js';
import type { CallContext, Interceptor, Reply } from './call.js';

/** The most characters of client-chosen text in a log line. */
const TEXT_MAX = 128;
/** Texts that need no change, as most do. */
const PLAIN = new RegExp(`^[\\x20-\\x7e]{0,${TEXT_MAX}}$`);

/** Prepares client-chosen text for a log line: at most 128 characters, invisible ones escaped. */
export function loggable(text: string): string {
  if (PLAIN.test(text)) return text;
  return escapeInvisible(text.length > TEXT_MAX ? `${text.slice(0, TEXT_MAX - 1)}…` : text);
}

/** The kinds of log lines. Each kind has its own limit, so that none can use up the lines of another. */
type Kind = 'unauthenticated' | 'callers' | 'causes';

/** The most lines of one kind that are written in one window. */
const MAX_LINES = 10;
/** The window in which the lines of a kind are counted, in milliseconds. */
const WINDOW_MS = 1_000;

/**
 * The log of calls. Refusals by the guard or before it, and causes of failures, are limited to ten lines a second for
 * each kind; the rest are counted, and one line gives the number. Refusals of admitted callers are limited too, unless
 * all calls are logged.
 */
export class CallLog {
  readonly #logger: Logger;
  readonly #access: Config['accessLog'];
  /** The number of lines in the current window, written or not. */
  readonly #lines = new Map<Kind, number>();

  /** The number of lines left out so far, by kind. */
  readonly leftOut: Record<Kind, number> = { unauthenticated: 0, callers: 0, causes: 0 };

  constructor(logger: Logger, access: Config['accessLog']) {
    this.#logger = logger;
    this.#access = access;
  }

  /** The level of the lines about successful calls. */
  get successLevel(): 'info' | 'debug' {
    return this.#access === 'all' ? 'info' : 'debug';
  }

  /** Whether lines of this level are written. */
  writes(level: 'info' | 'debug'): boolean {
    return this.#logger.isLevelEnabled(level);
  }

  /** @param level `debug` for frequent routine calls, such as health checks */
  writeAnswer(level: 'info' | 'debug', entry: object, message: string): void {
    this.#logger[level](entry, message);
  }

  /** @param unknown whether the call was refused by the guard or before it */
  writeRefusal(unknown: boolean, entry: object, message: string): void {
    if (this.mayWrite(unknown ? 'unauthenticated' : 'callers')) this.#logger.info(entry, message);
  }

  /** Logs the part of a failure that the client does not see. */
  writeCause(level: 'debug' | 'warn' | 'error', entry: object, message: string): void {
    if (level === 'debug' || this.mayWrite('causes')) this.#logger[level](entry, message);
  }

  /** Whether a line of this kind may be written; if not, it is counted. */
  mayWrite(kind: Kind): boolean {
    if (kind === 'callers' && this.#access === 'all') return true;
    const before = this.#lines.get(kind) ?? this.#begin(kind);
    this.#lines.set(kind, before + 1);
    if (before < MAX_LINES) return true;
    this.leftOut[kind]++;
    return false;
  }

  #begin(kind: Kind): number {
    setTimeout(() => {
      const leftOut = Number(this.#lines.get(kind)) - MAX_LINES;
      this.#lines.delete(kind);
      if (leftOut > 0) this.#logger.info({ kind, leftOut }, 'log lines left out');
    }, WINDOW_MS).unref();
    return 0;
  }
}

/** Logs each call in one line; at `debug` a health check, and an auth-only call that the guard admits. */
export function logCalls(log: CallLog): Interceptor {
  function write(context: CallContext, started: number, reply: Reply): Reply {
    const { requestId, call, method, authOnly, caller, reason } = context;
    const routine = method?.access === 'public' || reason === 'GUARD_PASSED';
    const refused = reply.code !== status.OK && !routine;
    const level = routine ? 'debug' : refused ? 'info' : log.successLevel;
    if (!log.writes(level)) return reply;

    const entry = {
      protocol: 'grpc',
      requestId,
      // A gRPC path has no query, but a client may send a query, and a token in it.
      path: loggable(call.path.replace(/\?.*$/s, '')),
      code: status[reply.code],
      reason,
      authOnly: authOnly || undefined,
      ms: Math.round(performance.now() - started),
      sub: caller && loggable(caller.subject),
      ...context.fields,
    };

    if (refused) log.writeRefusal(caller === undefined, entry, 'request refused');
    else log.writeAnswer(level, entry, 'request answered');
    return reply;
  }
  return (context, next) => {
    const started = performance.now();
    const reply = next(context);
    if (reply instanceof Promise) return reply.then((later) => write(context, started, later));
    return write(context, started, reply);
  };
}

/** Passes the caller's subject to the gateway in this process, which logs the request itself. */
export const nameCaller: Interceptor = (context, next) => {
  const addSubject = (reply: Reply): Reply => {
    if (context.caller !== undefined) reply.fields = { sub: loggable(context.caller.subject) };
    return reply;
  };
  const reply = next(context);
  return reply instanceof Promise ? reply.then(addSubject) : addSubject(reply);
};
