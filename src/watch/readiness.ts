/** The most failures in a row that do not fail a check: a single one may be a hiccup. */
const MOST_FAILURES = 1;

/** The state of a check. */
export interface CheckState {
  readonly ok: boolean;
  /** `starting` before the first outcome, `failing` when only the last check failed. */
  readonly state: string;
}

/** The monitor behind a check. */
interface Watched {
  /** The checks failed since the last one that passed; undefined before the first outcome. */
  readonly failures: number | undefined;
}

/** The readiness of a process, as in `/readyz`. */
export interface ReadinessReport {
  readonly status: 'ready' | 'not ready' | 'starting' | 'draining';
  readonly checks: Readonly<Record<string, CheckState>>;
}

const STARTING: CheckState = { ok: false, state: 'starting' };

/**
 * Whether the process should receive requests. It answers from what is already known, so that nothing that hangs delays
 * it.
 */
export class Readiness {
  readonly #checks: Map<string, () => CheckState>;
  #phase: 'starting' | 'running' | 'draining' = 'starting';

  /** @param names the checks that must exist and pass */
  constructor(names: readonly string[]) {
    this.#checks = new Map(names.map((name) => [name, () => STARTING]));
  }

  /** Adds a check that fails after two failures in a row. */
  watch(name: string, watched: Watched): void {
    this.#checks.set(name, () => {
      const { failures } = watched;
      if (failures === undefined) return STARTING;
      const ok = failures <= MOST_FAILURES;
      return { ok, state: failures === 0 ? 'up' : ok ? 'failing' : 'down' };
    });
  }

  /** Adds a check that has passed for good. */
  pass(name: string, state: string): void {
    this.#checks.set(name, () => ({ ok: true, state }));
  }

  /** Marks the servers as listening. */
  run(): void {
    this.#phase = 'running';
  }

  /** Marks the process as about to stop, for good. */
  drain(): void {
    this.#phase = 'draining';
  }

  get draining(): boolean {
    return this.#phase === 'draining';
  }

  get report(): ReadinessReport {
    const checks: Record<string, CheckState> = {
      process: { ok: this.#phase === 'running', state: this.#phase },
    };
    for (const [name, look] of this.#checks) checks[name] = look();
    const ready = Object.values(checks).every(({ ok }) => ok);
    const status = this.#phase === 'running' ? (ready ? 'ready' : 'not ready') : this.#phase;
    return { status, checks };
  }
}
