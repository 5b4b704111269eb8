import type { HttpReply } from '../http-reply.js';
import type { LogKind, TranscoderLog } from '../log.js';
import type { Exchange } from './exchange.js';
import { requestTarget } from './request-target.js';

/** The maximum length of a path in a log line, in characters. */
const PATH_MAX = 128;
/** The longest segment shown in full, in characters: a segment longer than a UUID may be a misplaced token. */
const SEGMENT_MAX = 36;
const SEGMENT_SHOWN = 8;

/** The options of a transcoder that apply to the log lines of requests. */
interface LineOptions {
  readonly log: TranscoderLog;
  readonly answeredLevel: 'info' | 'debug';
  readonly mayLog: (kind: LogKind) => boolean;
  readonly now: () => number;
}

/** Logs a request in one line; `reply` is undefined if the client has disconnected. */
export type RecordRequest = (exchange: Exchange, message: string, reply?: HttpReply) => void;

/** Creates the function that logs requests according to the options. */
export function requestLines({ answeredLevel, log, mayLog, now }: LineOptions): RecordRequest {
  return (exchange, message, reply) => {
    const failed = reply === undefined || reply.status >= 400 || reply.reason !== undefined;
    const level = reply?.routine === true ? 'debug' : failed ? 'info' : answeredLevel;
    if (log.isLevelEnabled?.(level) === false) return;
    const { requestId, verb, started, url, known, fields, observation } = exchange;
    if (failed && level === 'info' && !mayLog(known ? 'callers' : 'unauthenticated')) return;
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
  };
}

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
