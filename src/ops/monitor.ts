import { performance } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';

/** The pause after each check, in milliseconds. */
const INTERVAL_MS = 2_000;
/** How long a check may take, in milliseconds, however long a call may. */
const LIMIT_MS = 2_000;

const LATE = { err: new Error('There was no answer in time.') };

/** The part of a logger that is used here. */
export interface MonitorLog {
  info(message: string): void;
  warn(entry: object, message: string): void;
}

/** How to watch something that the service needs. */
export interface MonitorOptions {
  /** Its name in the log: `the store`. */
  readonly name: string;
  /** Resolves while it is well. */
  readonly check: () => Promise<void>;
  /**
   * When it has last done its work, by `performance.now()`. A check that is late beside such work waits, as for a free
   * connection, and has not failed. Default: never.
   */
  readonly workedAt?: () => number;
  /** Is told the outcome of each check. */
  readonly onChecked?: (well: boolean) => void;
  readonly log: MonitorLog;
  /** Default: 2,000. */
  readonly intervalMs?: number;
  /** Default: 2,000. */
  readonly limitMs?: number;
}

/**
 * Watches something that the service needs, by a check at a time: one that is late counts as failed, and is waited for
 * before there is another one.
 */
export class Monitor {
  readonly #options: MonitorOptions;
  readonly #limitMs: number;
  #failures: number | undefined;
  #pending: Promise<{ err: unknown } | undefined> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;

  constructor(options: MonitorOptions) {
    this.#options = options;
    this.#limitMs = options.limitMs ?? LIMIT_MS;
  }

  /** The checks that have failed since the last one that passed: `Infinity` if none has, undefined before the first. */
  get failures(): number | undefined {
    return this.#failures;
  }

  /** Watches from now on. Resolves after the first outcome. */
  start(): Promise<void> {
    return this.#look();
  }

  /** Ends it; an outcome that is still to come changes nothing. */
  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
  }

  async #look(): Promise<void> {
    const { name, log, onChecked, intervalMs = INTERVAL_MS } = this.#options;
    const failure = await this.#outcome();
    if (this.#stopped) return;
    const before = this.#failures;
    this.#failures = failure === undefined ? 0 : (before ?? Infinity) + 1;
    if (failure === undefined && before !== 0) log.info(`${name} answers: serving`);
    if (failure !== undefined && before === 0) log.warn(failure, `${name} does not answer: not serving`);
    onChecked?.(failure === undefined);
    this.#timer = setTimeout(() => void this.#look(), intervalMs);
  }

  async #outcome(): Promise<{ err: unknown } | undefined> {
    this.#pending ??= this.#options
      .check()
      .then(
        () => undefined,
        (err: unknown) => ({ err }),
      )
      .finally(() => (this.#pending = undefined));
    const answered = new AbortController();
    const late = delay(this.#limitMs, LATE, { signal: answered.signal }).catch(() => undefined);
    const outcome = await Promise.race([this.#pending, late]);
    answered.abort();
    if (outcome !== LATE) return outcome;
    const workedAt = this.#options.workedAt?.() ?? -Infinity;
    if (performance.now() - workedAt < this.#limitMs) return undefined;
    return LATE;
  }
}
