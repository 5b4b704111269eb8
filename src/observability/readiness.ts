import type { Monitor } from './monitor.js';

/** The state of a check. */
export interface CheckState {
  readonly ok: boolean;
  /** `starting` before the first outcome; then, for a watched dependency, `up` or `down`. */
  readonly state: string;
}

/** The readiness of a process, as in `/readyz`. */
export interface ReadinessReport {
  readonly status: 'ready' | 'not ready' | 'starting' | 'draining';
  readonly checks: Readonly<Record<string, CheckState>>;
}

const STARTING: CheckState = { ok: false, state: 'starting' };

/**
 * Whether the process should receive requests. The report contains only what is already known, so a dependency that
 * hangs does not delay it.
 */
export class Readiness {
  readonly #checks: Map<string, () => CheckState>;
  #phase: 'starting' | 'running' | 'draining' = 'starting';

  /** @param names the checks that must be added and pass */
  constructor(names: readonly string[]) {
    this.#checks = new Map(names.map((name) => [name, () => STARTING]));
  }

  /** Adds a check that passes while the watched dependency works. */
  watch(name: string, monitor: Pick<Monitor, 'well'>): void {
    this.#checks.set(name, () => {
      const { well } = monitor;
      return well === undefined ? STARTING : { ok: well, state: well ? 'up' : 'down' };
    });
  }

  /** Adds a check that has passed and cannot fail later. */
  pass(name: string, state: string): void {
    this.#checks.set(name, () => ({ ok: true, state }));
  }

  /** Marks the servers as listening. */
  run(): void {
    this.#phase = 'running';
  }

  /** Marks the process as about to stop, which cannot be undone. */
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
