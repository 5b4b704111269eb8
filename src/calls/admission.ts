import { performance } from 'node:perf_hooks';
import type { Call } from './call.js';
import { overloaded } from './failures.js';

/** How often the delay of the event loop is measured, in milliseconds. */
const MEASURE_MS = 100;

/** The limits on the work that a process accepts. */
export interface AdmissionLimits {
  /** Calls in progress; those whose messages are still arriving have at most half of these places, and at least one. */
  readonly maxCalls: number;
  /** Calls waiting for the database; one caller has at most half of these places. */
  readonly maxWaitingCalls: number;
  /** The repeated delay of the event loop above which calls that would wait are refused, in milliseconds. */
  readonly maxEventLoopDelayMs: number;
}

/**
 * Bounds the work in progress, so that an overloaded service still does the work that it can. A call answered from
 * memory is only counted; one that waits for the database also takes a place for as long as it waits.
 */
export class Admission {
  readonly #limits: AdmissionLimits;
  readonly #now: () => number;
  readonly #waitingOf = new Map<string, number>();
  #calls = 0;
  #arriving = 0;
  #waiting = 0;
  #dueMs: number;
  /** The delays of the last two measurements. */
  #delaysMs: readonly [number, number] = [0, 0];
  #timer: NodeJS.Timeout | undefined;

  /** @param now milliseconds of a monotonic clock; default: the process's */
  constructor(limits: AdmissionLimits, now: () => number = () => performance.now()) {
    this.#limits = limits;
    this.#now = now;
    this.#dueMs = now() + MEASURE_MS;
    this.#measureLater();
  }

  /**
   * Counts a call until `leave`, and until its message has arrived among those that are arriving.
   *
   * @throws CallError `OVERLOADED`
   */
  enter({ message }: Pick<Call, 'message'>): void {
    const { maxCalls } = this.#limits;
    if (this.#calls >= maxCalls) throw overloaded(`It has ${maxCalls} calls under way.`);
    if (message instanceof Promise) this.#await(message);
    this.#calls++;
  }

  leave(): void {
    this.#calls--;
  }

  /**
   * Runs work that waits, and holds a place until it is done.
   *
   * @param caller whose work it is; each caller has at most half of the places
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

  #await(message: Promise<unknown>): void {
    const most = Math.max(1, Math.floor(this.#limits.maxCalls / 2));
    if (this.#arriving >= most) throw overloaded(`It has ${most} requests that are still arriving.`);
    this.#arriving++;
    const arrived = (): void => {
      this.#arriving--;
    };
    message.then(arrived, arrived);
  }

  #check(own: number): void {
    const { maxWaitingCalls, maxEventLoopDelayMs } = this.#limits;
    const share = Math.floor(maxWaitingCalls / 2);
    if (this.#waiting >= maxWaitingCalls) throw overloaded(`It has ${maxWaitingCalls} calls waiting.`);
    if (own >= share) throw overloaded(`The caller has ${share} calls waiting.`);
    if (this.#eventLoopDelayMs() > maxEventLoopDelayMs)
      throw overloaded(`It is more than ${maxEventLoopDelayMs} ms late.`);
  }

  /** The smaller of two measurements: a single pause, such as that of a suspended machine, is no overload. */
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
