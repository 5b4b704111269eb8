import { diag, DiagLogLevel } from '@opentelemetry/api';
import { setGlobalErrorHandler } from '@opentelemetry/core';
import type { Logger } from 'pino';
import { loggable } from '../../calls/call-log.js';

/**
 * How long nothing is logged after a line, in milliseconds: an absent collector would otherwise cause a line per batch.
 */
const QUIET_MS = 60_000;

/** Logs the SDK's warnings and errors, at most one a minute. */
export class ExportLog {
  readonly #logger: Logger;
  readonly #now: () => number;
  #quietUntil = -Infinity;
  #leftOut = 0;

  /** @param now milliseconds of a monotonic clock */
  constructor(logger: Logger, now: () => number) {
    this.#logger = logger;
    this.#now = now;
  }

  /** Listens to the SDK, which has one log for the whole process. */
  listen(): void {
    const write = (reason: string): void => {
      this.write(reason);
    };
    diag.setLogger(
      { error: write, warn: write, info: () => undefined, debug: () => undefined, verbose: () => undefined },
      { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true },
    );
    // The SDK's own handler would turn failed exports into messages that begin with a stack.
    setGlobalErrorHandler((error) => {
      this.writeError(error);
    });
  }

  writeError(error: unknown): void {
    const { message = String(error), code = '' }: { message?: string; code?: string | number } =
      error instanceof Error ? error : {};
    this.write(`${message} ${code}`.trim());
  }

  write(reason: string): void {
    if (this.#now() < this.#quietUntil) {
      this.#leftOut += 1;
      return;
    }
    this.#quietUntil = this.#now() + QUIET_MS;
    this.#logger.warn({ reason: loggable(reason), leftOut: this.#leftOut }, 'tracing is impaired');
    this.#leftOut = 0;
  }
}
