import type { Call } from './call.js';
import { overloaded } from './failures.js';

/** The limits on the work that a process accepts. */
export interface AdmissionLimits {
  /** Calls in progress; those whose messages are still arriving have at most half of these places, and at least one. */
  readonly maxCalls: number;
  /** Calls waiting for the database; one caller has at most half of these places. */
  readonly maxWaitingCalls: number;
}

/**
 * Bounds the work in progress, so that an overloaded service still does the work that it can. A call answered from
 * memory is only counted; one that waits for the database also takes a place for as long as it waits.
 */
export class Admission {
  readonly #limits: AdmissionLimits;
  readonly #waitingOf = new Map<string, number>();
  readonly #arriving: Arrivals;
  /** Those that need no token: apart, so that strangers take no place of a caller. */
  readonly #arrivingOpen: Arrivals;
  #calls = 0;
  #waiting = 0;

  constructor(limits: AdmissionLimits) {
    this.#limits = limits;
    const part = (parts: number): number => Math.max(1, Math.floor(limits.maxCalls / parts));
    this.#arriving = new Arrivals(part(2));
    this.#arrivingOpen = new Arrivals(part(8));
  }

  /**
   * Counts a call until `leave`, and until its message has arrived among those that are arriving.
   *
   * @throws CallError `OVERLOADED`
   */
  enter({ message }: Pick<Call, 'message'>): void {
    const { maxCalls } = this.#limits;
    if (this.#calls >= maxCalls) throw overloaded(`It has ${maxCalls} calls under way.`);
    if (message instanceof Promise) this.#arriving.add(message);
    this.#calls++;
  }

  /**
   * Takes a call that needs no token. While its message arrives, it is one of an eighth as many as there are places.
   *
   * @throws CallError `OVERLOADED`
   */
  enterOpen({ message }: Pick<Call, 'message'>): void {
    if (message instanceof Promise) this.#arrivingOpen.add(message);
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

/** Messages that are still arriving. */
class Arrivals {
  readonly #most: number;
  #count = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /** Counts a message until it has arrived, or has failed. @throws CallError `OVERLOADED` */
  add(message: Promise<unknown>): void {
    if (this.#count >= this.#most) throw overloaded(`It has ${this.#most} requests that are still arriving.`);
    this.#count++;
    const arrived = (): void => {
      this.#count--;
    };
    message.then(arrived, arrived);
  }
}
