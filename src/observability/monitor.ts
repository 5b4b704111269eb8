import { setTimeout as delay } from 'node:timers/promises';

/** How many consecutive checks must fail before the dependency counts as down: a single failure may be transient. */
const FAILED_CHECKS = 2;
/** The pause after each check, in milliseconds. */
const INTERVAL_MS = 2_000;
/** The time limit of a check, in milliseconds, independent of the limit of a call. */
const LIMIT_MS = 2_000;

const LATE = { err: new Error('There was no answer in time.') };

export interface MonitorOptions {
  /** The dependency's name in the log, such as `the store`. */
  readonly name: string;
  /** Checks the dependency: resolves while it works. */
  readonly check: () => Promise<void>;
  /** Called with the first outcome, and when the dependency starts or stops working. */
  readonly onChange?: (well: boolean) => void;
  readonly log: { info(message: string): void; warn(entry: object, message: string): void };
  /** Default: 2,000. */
  readonly intervalMs?: number | undefined;
  /** Default: 2,000. */
  readonly limitMs?: number | undefined;
}

/**
 * Watches a dependency of the service with one check at a time. A late check counts as failed, and the next one starts
 * only when the late one has ended.
 */
export class Monitor {
  readonly #options: MonitorOptions;
  readonly #limitMs: number;
  /** Consecutive failures; the initial value makes the dependency count as down until a check passes. */
  #failures = FAILED_CHECKS;
  #well: boolean | undefined;
  #pending: Promise<{ err: unknown } | undefined> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;

  constructor(options: MonitorOptions) {
    this.#options = options;
    this.#limitMs = options.limitMs ?? LIMIT_MS;
  }

  /**
   * Whether the dependency works: false after two failed checks in a row, or if the first check fails. Undefined before
   * the first outcome.
   */
  get well(): boolean | undefined {
    return this.#well;
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
    const { name, log, onChange, intervalMs = INTERVAL_MS } = this.#options;
    const failure = await this.#outcome();
    if (this.#stopped) return;

    const before = this.#well;
    this.#failures = failure === undefined ? 0 : this.#failures + 1;
    this.#well = this.#failures < FAILED_CHECKS;
    if (this.#well !== before) {
      if (failure === undefined) log.info(`${name} answers`);
      else if (before === true) log.warn(failure, `${name} does not answer: not serving`);
      onChange?.(this.#well);
    }

    this.#timer = setTimeout(() => void this.#look(), intervalMs);
  }

  #outcome(): Promise<{ err: unknown } | undefined> {
    this.#pending ??= this.#options
      .check()
      .then(
        () => undefined,
        (err: unknown) => ({ err }),
      )
      .finally(() => (this.#pending = undefined));
    return Promise.race([this.#pending, delay(this.#limitMs, LATE, { ref: false })]);
  }
}
