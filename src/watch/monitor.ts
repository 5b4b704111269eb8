import { performance } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';

/** The pause after each check, in milliseconds. */
const INTERVAL_MS = 2_000;
/** The time limit of a check, in milliseconds, independent of the limit of a call. */
const LIMIT_MS = 2_000;

const LATE = { err: new Error('There was no answer in time.') };

/** The part of a logger that is used here. */
export interface MonitorLog {
  info(message: string): void;
  warn(entry: object, message: string): void;
}

/** The options of a monitor, which watches a dependency of the service. */
export interface MonitorOptions {
  /** Its name in the log: `the store`. */
  readonly name: string;
  /** Checks the dependency: resolves while it works. */
  readonly check: () => Promise<void>;
  /**
   * When it last did its work, by `performance.now()`. A check that is late while such work goes on is waiting, for
   * example for a free connection, and has not failed. Default: never.
   */
  readonly workedAt?: () => number;
  /** Called with the outcome of each check. */
  readonly onChecked?: (well: boolean) => void;
  readonly log: MonitorLog;
  /** Default: 2,000. */
  readonly intervalMs?: number | undefined;
  /** Default: 2,000. */
  readonly limitMs?: number | undefined;
}

/**
 * Watches a dependency of the service with one check at a time. A late check counts as failed, and the next one starts
 * only when it has ended.
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

  /** The checks failed since the last one that passed: `Infinity` if none has passed, undefined before the first. */
  get failures(): number | undefined {
    return this.#failures;
  }

  /** Starts watching. Resolves after the first outcome. */
  start(): Promise<void> {
    return this.#look();
  }

  /** Stops watching; a pending outcome is ignored. */
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
