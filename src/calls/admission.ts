import { performance } from 'node:perf_hooks';
import { overloaded } from './failures.js';

/** How often the delay of the event loop is measured, in milliseconds. */
const MEASURE_MS = 100;

/** The amount of work that a process takes on. */
export interface AdmissionLimits {
  /** Calls under way. */
  readonly maxCalls: number;
  /** Calls that wait for the database; one caller has at most half of these places. */
  readonly maxWaitingCalls: number;
  /** How late the event loop may be, again and again, before calls that would wait are refused, in milliseconds. */
  readonly maxEventLoopDelayMs: number;
}

/**
 * Bounds the work under way, so that a service that is offered more than it can carry carries what it can. A call that
 * is answered from memory only counts; one that waits for the database also takes a place until it waits no longer.
 */
export class Admission {
  readonly #limits: AdmissionLimits;
  readonly #now: () => number;
  readonly #waitingOf = new Map<string, number>();
  #calls = 0;
  #waiting = 0;
  #dueMs: number;
  /** The delays of the last two measurements. */
  #delaysMs: readonly [number, number] = [0, 0];
  #timer: NodeJS.Timeout | undefined;

  /** @param now milliseconds of a steady clock; default: that of the process */
  constructor(limits: AdmissionLimits, now: () => number = () => performance.now()) {
    this.#limits = limits;
    this.#now = now;
    this.#dueMs = now() + MEASURE_MS;
    this.#measureLater();
  }

  /** Counts a call until `leave`. @throws CallError `OVERLOADED` */
  enter(): void {
    const { maxCalls } = this.#limits;
    if (this.#calls >= maxCalls) throw overloaded(`It has ${maxCalls} calls under way.`);
    this.#calls++;
  }

  leave(): void {
    this.#calls--;
  }

  /**
   * Runs work that waits, in a place that it keeps until it is done.
   *
   * @param caller whose work it is; each has at most half of the places
   * @throws CallError `OVERLOADED`, before the work has begun
   */
  async wait<T>(caller: string, work: () => Promise<T>): Promise<T> {
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

  /** Stops measuring. */
  close(): void {
    clearTimeout(this.#timer);
  }

  #check(own: number): void {
    const { maxWaitingCalls, maxEventLoopDelayMs } = this.#limits;
    const share = Math.floor(maxWaitingCalls / 2);
    if (this.#waiting >= maxWaitingCalls) throw overloaded(`It has ${maxWaitingCalls} calls waiting.`);
    if (own >= share) throw overloaded(`The caller has ${share} calls waiting.`);
    if (this.#eventLoopDelayMs() > maxEventLoopDelayMs)
      throw overloaded(`It is more than ${maxEventLoopDelayMs} ms late.`);
  }

  /** Of two measurements the smaller one: a single pause, as of a machine that was suspended, is no overload. */
  #eventLoopDelayMs(): number {
    return Math.min(...this.#delaysMs);
  }

  #measureLater(): void {
    this.#timer = setTimeout(() => {
      this.#delaysMs = [this.#delaysMs[1], this.#now() - this.#dueMs];
      this.#dueMs = this.#now() + MEASURE_MS;
      this.#measureLater();
    }, MEASURE_MS).unref();
  }
}
