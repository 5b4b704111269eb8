import { overloaded } from './failures.js';

/** The limits on the work that a process accepts. */
export interface AdmissionLimits {
  /** Calls in progress. */
  readonly maxCalls: number;
  /** Calls waiting for the database. One caller gets at most half of these places. */
  readonly maxWaitingCalls: number;
}

/**
 * Limits the work in progress, so that an overloaded service still completes the work that it can. A call served from
 * memory only counts as in progress; a call that waits for the database also holds a place while it waits.
 */
export class Admission {
  readonly #limits: AdmissionLimits;
  readonly #waitingOf = new Map<string, number>();
  #calls = 0;
  #waiting = 0;

  constructor(limits: AdmissionLimits) {
    this.#limits = limits;
  }

  /**
   * Counts a call until `leave`.
   *
   * @throws CallError `OVERLOADED`
   */
  enter(): void {
    const { maxCalls } = this.#limits;
    if (this.#calls >= maxCalls) throw overloaded(`It has ${maxCalls} calls under way.`);
    this.#calls++;
  }

  leave(): void {
    this.#calls--;
  }

  /**
   * Runs work that waits for the database, and holds a place until the work is done.
   *
   * @param caller the caller whose work it is; each caller gets at most half of the places
   * @throws CallError `OVERLOADED`, before the work begins
   */
  async wait<T>(caller: string, work: () => T | Promise<T>): Promise<T> {
    const own = this.#waitingOf.get(caller) ?? 0;
    this.#check(own);
    this.#waiting++;
    this.#waitingOf.set(caller, own + 1);
    try {
      return await work();
    } finally {
      this.#waiting--;
      const left = Number(this.#waitingOf.get(caller)) - 1;
      if (left > 0) this.#waitingOf.set(caller, left);
      else this.#waitingOf.delete(caller);
    }
  }

  #check(own: number): void {
    const { maxWaitingCalls } = this.#limits;
    const share = Math.floor(maxWaitingCalls / 2);
    if (this.#waiting >= maxWaitingCalls) throw overloaded(`It has ${maxWaitingCalls} calls waiting.`);
    if (own >= share) throw overloaded(`The caller has ${share} calls waiting.`);
  }
}
