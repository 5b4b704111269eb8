import { randomUUID } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { inspect } from 'node:util';

/** The logger of a transcoder, for everything that responses do not reveal. A pino logger has this shape. */
export interface TranscoderLog {
  /** One line for each successful request, without its query or payload, and the causes of client errors. */
  debug(fields: object, message: string): void;
  /** One line for each failed request, and for each successful one if `answeredLevel` is `info`. */
  info(fields: object, message: string): void;
  /** Temporary failures of the upstream, with the cause as `err`. */
  warn(fields: object, message: string): void;
  /** Unexpected failures, with the cause as `err`. */
  error(fields: object, message: string): void;
  /** Whether lines of this level are written. Default: true. */
  isLevelEnabled?(level: 'debug' | 'info'): boolean;
}

/**
 * The kinds of log lines that clients can cause: failed requests of unauthenticated clients, failed requests of
 * identified callers, and causes of failures and faults of hooks. `mayLog` can limit each kind separately.
 */
export type LogKind = 'unauthenticated' | 'callers' | 'causes';

/** Observes requests, for example for metrics and traces. What they throw goes to the log. */
export interface RequestObserver {
  /**
   * Called when the head of a request has arrived, before the request is processed. For bytes that are not an HTTP
   * request, `method` and `headers` are empty.
   */
  begin(request: { readonly method: string; readonly headers: IncomingHttpHeaders }): RequestObservation;
}

/** The observation of one request, until its end. */
export interface RequestObservation {
  /** Metadata for the upstream call. It replaces metadata from the client with the same keys, such as `traceparent`. */
  readonly metadata?: ReadonlyMap<string, string> | undefined;
  /** Fields added to each log line about the request. */
  readonly fields?: Readonly<Record<string, string>> | undefined;
  /**
   * Called once, when the response has been written or the client has disconnected; for a stream, when it has ended.
   */
  end(outcome: RequestOutcome): void;
}

/** The outcome of a request. */
export interface RequestOutcome {
  /**
   * The path template of the matched method, as written in the contract, with the base path; or the template that the
   * `answer` of `respond` set. Undefined for an unknown path, and for a request that was refused before its path was
   * read.
   */
  readonly template: string | undefined;
  /** The HTTP status; undefined if the client disconnected first. */
  readonly status: number | undefined;
  /** The reason of the error, if it has one. */
  readonly reason: string | undefined;
  readonly requestId: string;
}

/** The functions of an application that a transcoder calls, besides its guard and its upstream. All have defaults. */
export interface Hooks {
  /** Returns the id of a request, given its `X-Request-Id` header. Default: a random UUID; the header is ignored. */
  readonly requestIdOf: (header: string | undefined) => string;
  /**
   * Calls `writing`, which writes a response, now or later in this turn of the event loop. Default: calls it at once.
   */
  readonly write: (writing: () => void) => void;
  /**
   * Returns the time, in milliseconds. Any monotonic clock will do if the upstream takes deadlines by it; `grpcUpstream`
   * takes them by `Date.now`. Default: `Date.now`.
   */
  readonly now: () => number;
  /** The logger. Default: prints warnings and errors to stderr. */
  readonly log: TranscoderLog;
  /**
   * Returns whether to write a log line above `debug` about a failed request; called before each. Default: always true.
   */
  readonly mayLog: (kind: LogKind) => boolean;
  /**
   * Called beside the log line about an `Any` of a type that the contract lacks, in a reply or in the details of an error,
   * with its type URL: once for each type, and for at most 100, since servers may pass on what clients made up. A program
   * may get the type meanwhile, as with `want` of `followContract`. Default: does nothing.
   */
  readonly onUnknownType: (typeUrl: string) => void;
  /** Observers of every request, for example for metrics and traces. Default: none. */
  readonly observers: readonly RequestObserver[];
}

const ignore = (): void => undefined;
const call = (action: () => unknown): unknown => action();

/** What is done without a hook. The log prints warnings and errors to stderr, with their causes. */
export const DEFAULT_HOOKS = {
  log: { debug: ignore, info: ignore, warn: print, error: print },
  mayLog: () => true,
  now: Date.now,
  requestIdOf: () => randomUUID(),
  write: call,
  onUnknownType: ignore,
  observers: [],
} satisfies Hooks;

function print(fields: { readonly err?: unknown }, message: string): void {
  const { err, ...others } = fields;
  const cause = err === undefined ? '' : `: ${err instanceof Error ? String(err.stack) : inspect(err)}`;
  process.stderr.write(`transcoder: ${message} ${JSON.stringify(others)}${cause}\n`);
}

/** What Node can send as a header, and gRPC as metadata. */
const REQUEST_ID = /^[ -~]+$/;

/**
 * Returns hooks that do the same, but never throw or return a wrong value: what is done without the hook is done instead,
 * and the log has a line that names it. A fault in one of them neither fails the request nor ends the process.
 */
export function faultless(hooks: Hooks) {
  const log = faultlessLog(hooks.log);
  const onFaultIn = (hook: string) => (err: unknown) => {
    if (hook === 'mayLog' || mayLog('causes')) log.error({ hook, err }, 'hook failed');
  };
  const { now, requestIdOf } = DEFAULT_HOOKS;
  const isFlag = (value: unknown): boolean => typeof value === 'boolean';
  const isId = (value: unknown): boolean => typeof value === 'string' && REQUEST_ID.test(value);
  const mayLog = faultlessHook(hooks.mayLog, isFlag, DEFAULT_HOOKS.mayLog, onFaultIn('mayLog'));
  return {
    log,
    mayLog,
    now: faultlessHook(hooks.now, Number.isFinite, now, onFaultIn('now')),
    requestIdOf: faultlessHook(hooks.requestIdOf, isId, requestIdOf, onFaultIn('requestIdOf')),
    write: faultlessHook(hooks.write, isAny, call, onFaultIn('write')),
    onUnknownType: faultlessHook(hooks.onUnknownType, isAny, ignore, onFaultIn('onUnknownType')),
    observer: joinObservers(hooks.observers, onFaultIn('observers')),
    /** Calls a listener of an upstream or a guard. */
    notify: faultlessHook(call, isAny, ignore, onFaultIn('onCancelled')),
  };
}

const isAny = (): boolean => true;

/** @param onFault called with what the hook has thrown, or with an error that tells what it has returned */
function faultlessHook<Args extends readonly unknown[], Value>(
  hook: (...args: Args) => Value,
  fits: (value: NoInfer<Value>) => boolean,
  fallback: (...args: NoInfer<Args>) => NoInfer<Value>,
  onFault: (error: unknown) => void,
): (...args: Args) => Value {
  if (hook === fallback) return hook;
  return (...args) => {
    try {
      const value = hook(...args);
      if (value instanceof Promise) value.catch(onFault);
      if (fits(value)) return value;
      throw new TypeError(`It returned ${String(value)}.`);
    } catch (error) {
      onFault(error);
      return fallback(...args);
    }
  };
}

/** The fault of a log has no other place than the log by default. */
function faultlessLog(log: TranscoderLog): TranscoderLog {
  const onFault = (err: unknown): void => {
    print({ err }, 'log failed');
  };
  // Loggers may return a promise against their type, and replace their methods when their level changes.
  const lines: Record<'debug' | 'info' | 'warn' | 'error', (...line: [object, string]) => unknown> = log;
  const at = (level: keyof typeof lines): TranscoderLog['info'] =>
    faultlessHook((...line) => lines[level](...line), isAny, ignore, onFault);
  const isEnabled = (level: 'debug' | 'info'): boolean => log.isLevelEnabled?.(level) !== false;
  const isLevelEnabled = faultlessHook(isEnabled, isAny, () => true, onFault);
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error'), isLevelEnabled };
}

const UNOBSERVED: RequestObservation = { end: ignore };
const isObservation = (value: RequestObservation): boolean => typeof value.end === 'function';

/** Combines several observers. If they set the same metadata or field, the last observer wins. */
function joinObservers(
  observers: readonly RequestObserver[],
  onFault: (error: unknown) => void,
): RequestObserver {
  if (observers.length === 0) return { begin: () => UNOBSERVED };
  const begins = observers.map((observer) => {
    const begin: RequestObserver['begin'] = (request) => observer.begin(request);
    return faultlessHook(begin, isObservation, () => UNOBSERVED, onFault);
  });
  const attempt = faultlessHook(call, isAny, ignore, onFault);
  return {
    begin: (request) =>
      new JoinedObservation(
        begins.map((begin) => begin(request)),
        attempt,
      ),
  };
}

/** An observation that may return something against its type, such as a promise. */
type Observation = Omit<RequestObservation, 'end'> & { end(outcome: RequestOutcome): unknown };

class JoinedObservation implements RequestObservation {
  readonly #observations: readonly Observation[];
  readonly #attempt: typeof call;

  constructor(observations: readonly Observation[], attempt: typeof call) {
    this.#observations = observations;
    this.#attempt = attempt;
  }

  get metadata(): RequestObservation['metadata'] {
    let joined: RequestObservation['metadata'];
    for (const observation of this.#observations)
      this.#attempt(() => {
        const { metadata } = observation;
        if (metadata !== undefined) joined = new Map([...(joined ?? []), ...metadata]);
      });
    return joined;
  }

  get fields(): RequestObservation['fields'] {
    let joined: RequestObservation['fields'];
    for (const observation of this.#observations)
      this.#attempt(() => (joined = { ...joined, ...observation.fields }));
    return joined;
  }

  end(outcome: RequestOutcome): void {
    for (const observation of this.#observations) this.#attempt(() => observation.end(outcome));
  }
}
