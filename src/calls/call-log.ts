import type { Logger } from 'pino';

/** The most characters in a log line of anything that a client chose. */
const TEXT_MAX = 128;
/** Invisible characters, which could make one line look like another. */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** A text that a client chose, as log lines show it: invisible characters escaped, cut after 128. */
export function loggable(text: string): string {
  const cut = text.length > TEXT_MAX ? `${text.slice(0, TEXT_MAX - 1)}…` : text;
  return cut.replace(INVISIBLE, (character) => `\\u{${Number(character.codePointAt(0)).toString(16)}}`);
}

/** Whose lines are counted together: nobody can use up the lines of another kind. */
export type Kind = 'strangers' | 'callers' | 'causes';

/** How long the lines of a kind are counted together, in milliseconds. */
const WINDOW_MS = 1_000;

/**
 * The log of calls. Refusals and causes of failures are limited to a number of lines a second, of each kind; the rest
 * is counted, and one line says how many there were.
 */
export class CallLog {
  readonly #logger: Logger;
  readonly #maxLines: number;
  /** The lines of the present second, written or not. */
  readonly #lines = new Map<Kind, number>();

  /** @param maxLines of each kind in a second */
  constructor(logger: Logger, maxLines: number) {
    this.#logger = logger;
    this.#maxLines = maxLines;
  }

  answered(entry: object, message: string): void {
    this.#logger.debug(entry, message);
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
    const before = this.#lines.get(kind) ?? this.#begin(kind);
    this.#lines.set(kind, before + 1);
    return before < this.#maxLines;
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
