import { type HttpReply, writeEarlyReply, writeReply } from '../http-response.js';
import type { LogKind, TranscoderLog } from '../log.js';
import type { Exchange } from './exchange.js';
import { requestTarget } from './head.js';

interface FinishOptions {
  readonly log: TranscoderLog;
  readonly answeredLevel: 'info' | 'debug';
  readonly mayLog: (kind: LogKind) => boolean;
  readonly now: () => number;
  /** Returns the response for an error. */
  readonly failed: (error: unknown, exchange: Exchange) => HttpReply;
  /** How long bytes that arrive after the response are discarded, in milliseconds. */
  readonly lingerMs: () => number;
}

/** The log levels of causes by HTTP status; other causes matter only for debugging. */
const LEVELS: Readonly<Record<number, 'error' | 'warn'>> = { 429: 'warn', 500: 'error', 503: 'warn' };

/**
 * Creates the function that writes the response of an exchange and records the outcome. Only the first call for an
 * exchange has an effect.
 */
export function finishExchanges({ log, answeredLevel, mayLog, now, failed, lingerMs }: FinishOptions) {
  /** Logs the request in one line. @param reply undefined if the client has disconnected */
  function record(exchange: Exchange, reply?: HttpReply): void {
    const refused = reply === undefined || reply.status >= 400 || reply.reason !== undefined;
    const level = reply?.routine === true ? 'debug' : refused ? 'info' : answeredLevel;
    if (log.isLevelEnabled?.(level) === false) return;
    const { requestId, verb, started, url, callerKnown, fields, observation } = exchange;
    if (refused && level === 'info' && !mayLog(callerKnown ? 'callers' : 'unauthenticated')) return;
    const message = reply === undefined ? 'client gone' : refused ? 'request refused' : 'request answered';
    const line = {
      requestId,
      method: verb,
      path: loggedPath(url),
      status: reply?.status,
      reason: reply?.reason,
      ms: now() - started,
      ...fields,
      ...observation.fields,
    };
    log[level](line, message);
  }

  function gone(exchange: Exchange): void {
    exchange.end();
    record(exchange);
  }

  /** @param status selects the log level of the cause. Default: the status of the reply. */
  function answered(exchange: Exchange, reply: HttpReply, status = reply.status): void {
    const { requestId, observation } = exchange;
    const { cause } = reply;
    exchange.end(reply);
    if (cause !== undefined) {
      const level = LEVELS[status] ?? 'debug';
      if (level === 'debug' || mayLog('causes'))
        log[level]({ requestId, err: cause, ...observation.fields }, 'request failed');
    }
    record(exchange, reply);
  }

  /** Records a response with an iterable body once it has ended. */
  function finishLater(exchange: Exchange, reply: HttpReply, written: Promise<void>): void {
    let broken: HttpReply | undefined;
    written.catch((error: unknown) => {
      broken = failed(error, exchange);
      exchange.response.destroy();
    });
    exchange.onClose(() => {
      broken ??= reply.brokenOff?.();
      if (broken === undefined && exchange.cancelled) gone(exchange);
      else answered(exchange, { ...reply, reason: broken?.reason, cause: broken?.cause }, broken?.status);
    });
  }

  return (exchange: Exchange, reply: HttpReply): void => {
    // `onClientError` may already have responded.
    if (exchange.written) return;
    exchange.written = true;
    const { requestId, response } = exchange;
    if (exchange.cancelled) {
      gone(exchange);
      return;
    }
    const early = exchange.partial && reply.headers['Connection'] === undefined;
    const write = (given: HttpReply): Promise<void> | undefined =>
      early
        ? writeEarlyReply(response, given, requestId, lingerMs())
        : writeReply(response, given, requestId);
    let sent = reply;
    let written: Promise<void> | undefined;
    try {
      written = write(reply);
    } catch (error) {
      // Node refuses a header, such as one with a line break, before it has sent any.
      for (const name of Object.keys(reply.headers)) response.removeHeader(name);
      sent = failed(error, exchange);
      written = write(sent);
    }
    if (written === undefined) answered(exchange, sent);
    else finishLater(exchange, sent, written);
  };
}

/** The maximum length of a path in a log line, in characters. */
const PATH_MAX = 128;
/** The longest segment shown in full, in characters: a segment longer than a UUID may be a misplaced token. */
const SEGMENT_MAX = 36;
const SEGMENT_SHOWN = 8;

/**
 * The path of a request target for log lines: without the query, and with long segments cut, since they may be tokens.
 */
export function loggedPath(target: string): string {
  const { path } = requestTarget(target);
  // One character is one byte here, since Node reads a request target as Latin-1.
  const visible = path.replace(
    /[^\x21-\x7e]/g,
    (byte) => `%${byte.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  if (visible.length <= SEGMENT_MAX) return visible;
  const shown = visible.split('/').map(shortened).join('/');
  return shown.length > PATH_MAX ? `${shown.slice(0, PATH_MAX - 1)}…` : shown;
}

function shortened(segment: string): string {
  return segment.length > SEGMENT_MAX ? `${segment.slice(0, SEGMENT_SHOWN)}…` : segment;
}
