import type { Logger } from 'pino';

/** The most characters in a log line of anything that a client chose. */
const TEXT_MAX = 128;
/** Invisible characters, which could make one line look like another. */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;
/** Most texts; they need no change. */
const PLAIN = /^[\x20-\x7e]{0,128}$/;

/** A text that a client chose, as log lines show it: invisible characters escaped, cut after 128. */
export function loggable(text: string): string {
  if (PLAIN.test(text)) return text;
  const cut = text.length > TEXT_MAX ? `${text.slice(0, TEXT_MAX - 1)}…` : text;
  return cut.replace(INVISIBLE, (character) => `\\u{${Number(character.codePointAt(0)).toString(16)}}`);
}

/** Whose lines are counted together: nobody can use up the lines of another kind. */
export type Kind = 'strangers' | 'callers' | 'causes';

/** Which calls have a line: all, or those that failed. The others have theirs at `debug`. */
export type AccessLog = 'all' | 'failures';

/** How long the lines of a kind are counted together, in milliseconds. */
const WINDOW_MS = 1_000;

/**
 * The log of calls. Refusals of strangers and causes of failures are limited to a number of lines a second, of each
 * kind; the rest is counted, and one line says how many there were. So are refusals of callers, unless all calls have a
 * line.
 */
export class CallLog {
  readonly #logger: Logger;
  readonly #maxLines: number;
  readonly #access: AccessLog;
  /** The lines of the present second, written or not. */
  readonly #lines = new Map<Kind, number>();

  /** The lines of each kind that were left out so far. */
  readonly leftOut: Record<Kind, number> = { strangers: 0, callers: 0, causes: 0 };

  /** @param maxLines of each kind in a second */
  constructor(logger: Logger, maxLines: number, access: AccessLog) {
    this.#logger = logger;
    this.#maxLines = maxLines;
    this.#access = access;
  }

  /** The level of the lines about successful calls. */
  get answeredLevel(): 'info' | 'debug' {
    return this.#access === 'all' ? 'info' : 'debug';
  }

  /** Whether lines of this level are written. */
  writes(level: 'info' | 'debug'): boolean {
    return this.#logger.isLevelEnabled(level);
  }

  /** @param level `debug` for a call that comes all the time, such as a check of the health */
  answered(level: 'info' | 'debug', entry: object, message: string): void {
    this.#logger[level](entry, message);
  }

  /** @param stranger whether it was refused before the guard knew the caller */
  refused(stranger: boolean, entry: object, message: string): void {
    if (this.mayWrite(stranger ? 'strangers' : 'callers')) this.#logger.info(entry, message);
  }

  /** The part of a failure that the client is not told. */
  cause(level: 'debug' | 'warn' | 'error', entry: object, message: string): void {
    if (level === 'debug' || this.mayWrite('causes')) this.#logger[level](entry, message);
  }

  /** Whether a line of this kind may be written; if not, it is counted. */
  mayWrite(kind: Kind): boolean {
    if (kind === 'callers' && this.#access === 'all') return true;
    const before = this.#lines.get(kind) ?? this.#begin(kind);
    this.#lines.set(kind, before + 1);
    if (before < this.#maxLines) return true;
    this.leftOut[kind]++;
    return false;
  }

  #begin(kind: Kind): number {
    setTimeout(() => {
      const leftOut = Number(this.#lines.get(kind)) - this.#maxLines;
      this.#lines.delete(kind);
      if (leftOut > 0) this.#logger.info({ kind, leftOut }, 'log lines left out');
    }, WINDOW_MS).unref();
    return 0;
  }
}
