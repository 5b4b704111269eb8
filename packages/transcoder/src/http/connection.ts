import { overloaded } from '../failures/failure.js';
import type { Exchange } from './exchange.js';

/** How many requests of one connection may be without an answer. Few clients send a second before the first is answered. */
export const MAX_UNANSWERED = 100;

/** The requests of one connection. */
export class Connection {
  /** The one that came last. */
  latest: Exchange | undefined;
  #unanswered = 0;

  begin(exchange: Exchange): void {
    this.latest = exchange;
    this.#unanswered += 1;
  }

  answered(): void {
    this.#unanswered -= 1;
  }

  /**
   * Refuses what a client sends without waiting for answers. Refusals that it does not read make Node stop reading, too.
   *
   * @throws Failure `OVERLOADED`
   */
  requirePlace(): void {
    if (this.#unanswered > MAX_UNANSWERED) {
      throw overloaded(`The connection has ${MAX_UNANSWERED} requests under way.`);
    }
  }
}
