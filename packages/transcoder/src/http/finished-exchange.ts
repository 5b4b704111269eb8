import { type HttpReply, writeEarlyReply, writeReply } from '../http-reply.js';
import type { LogKind, TranscoderLog } from '../log.js';
import type { Exchange } from './exchange.js';
import type { RecordRequest } from './request-line.js';

/** Options of `finishExchanges`. */
interface FinishOptions {
  readonly log: TranscoderLog;
  readonly mayLog: (kind: LogKind) => boolean;
  readonly record: RecordRequest;
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
export function finishExchanges({ log, mayLog, record, failed, lingerMs }: FinishOptions) {
  function gone(exchange: Exchange): void {
    exchange.end();
    record(exchange, 'client gone');
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
    record(exchange, 'request answered', reply);
  }

  /** Records a response with an iterable body once it has ended. */
  function finishLater(exchange: Exchange, reply: HttpReply, written: Promise<void>): void {
    let broken: HttpReply | undefined;
    written.catch((error: unknown) => {
      broken = failed(error, exchange);
      exchange.response.destroy();
    });
    exchange.whenOver(() => {
      broken ??= reply.brokenOff?.();
      if (broken === undefined && exchange.cancelled) gone(exchange);
      else answered(exchange, { ...reply, reason: broken?.reason, cause: broken?.cause }, broken?.status);
    });
  }

  return (exchange: Exchange, reply: HttpReply): void => {
    // `onClientError` may already have responded.
    if (exchange.answered) return;
    exchange.answered = true;
    const { requestId, response } = exchange;
    if (exchange.cancelled) {
      gone(exchange);
      return;
    }
    const early = exchange.partial && reply.headers['Connection'] === undefined;
    const written = early
      ? writeEarlyReply(response, reply, requestId, lingerMs())
      : writeReply(response, reply, requestId);
    if (written === undefined) answered(exchange, reply);
    else finishLater(exchange, reply, written);
  };
}
