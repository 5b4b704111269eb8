/** The failures in a row that make a check fail: a single one may be a hiccup. */
const MOST_FAILURES = 1;

/** A check as it stands. */
export interface CheckState {
  readonly ok: boolean;
  /** `starting` before there was an outcome, `failing` when only the last one was a failure. */
  readonly state: string;
}

/** Something that is watched. */
export interface Watched {
  /** The checks that have failed since the last one that passed; undefined before the first outcome. */
  readonly failures: number | undefined;
}

/** The readiness of a process, as `/readyz` says it. */
export interface ReadinessReport {
  readonly status: 'ready' | 'not ready' | 'starting' | 'draining';
  readonly checks: Readonly<Record<string, CheckState>>;
}

const STARTING: CheckState = { ok: false, state: 'starting' };

/**
 * Whether the process should get requests. It is asked only for what it knows already, so that it answers at once,
 * whatever else hangs.
 */
export class Readiness {
  readonly #checks: Map<string, () => CheckState>;
  #phase: 'starting' | 'running' | 'draining' = 'starting';

  /** @param names the checks that must be there and pass */
  constructor(names: readonly string[]) {
    this.#checks = new Map(names.map((name) => [name, () => STARTING]));
  }

  /** A check that two failures in a row turn. */
  watch(name: string, watched: Watched): void {
    this.#checks.set(name, () => {
      const { failures } = watched;
      if (failures === undefined) return STARTING;
      const ok = failures <= MOST_FAILURES;
      return { ok, state: failures === 0 ? 'up' : ok ? 'failing' : 'down' };
    });
  }

  /** A check that has passed for good. */
  pass(name: string, state: string): void {
    this.#checks.set(name, () => ({ ok: true, state }));
  }

  /** The servers listen. */
  run(): void {
    this.#phase = 'running';
  }

  /** The process is about to stop; for good. */
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
