import { overloaded } from '../failures/failure.js';

/**
 * The places of requests that have not arrived whole: half of those for all requests, and at least one. The others are
 * left for requests that arrive whole.
 */
export class ArrivingPlaces {
  readonly #most: number;
  #taken = 0;

  /** @param maxRequests the places for all requests. */
  constructor(maxRequests: number) {
    this.#most = Math.max(1, Math.floor(maxRequests / 2));
  }

  /** @throws Failure `OVERLOADED` */
  take(): void {
    if (this.#taken >= this.#most) throw overloaded(`It has ${this.#most} requests that are still arriving.`);
    this.#taken += 1;
  }

  leave(): void {
    this.#taken -= 1;
  }
}
