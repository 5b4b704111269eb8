import { overloaded } from '../failures/failure.js';

/**
 * Limits the requests whose bodies are still arriving to half of all requests, and at least one. The rest is reserved
 * for requests that have arrived.
 */
export class ArrivingPlaces {
  readonly #most: number;
  #taken = 0;

  /** @param maxRequests the maximum number of requests. */
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
