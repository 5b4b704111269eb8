import { deadlineExceeded, shuttingDown } from '../failures/failure.js';
import type { HttpReply } from '../http-reply.js';
import type { ArrivingPlaces } from './arriving-places.js';
import type { GuardVerdict } from './guard-verdict.js';
import type { Exchange } from './exchange.js';

/** The request bodies that did not arrive together with their heads. */
export class Uploads {
  readonly #now: () => number;
  readonly #places: ArrivingPlaces;
  readonly #arriving = new Set<(failure: Error) => void>();
  #ended = false;

  constructor(now: () => number, places: ArrivingPlaces) {
    this.#now = now;
    this.#places = places;
  }

  /**
   * Waits for a body. If the body is incomplete at the end of this turn of the event loop, the guard is called, and a
   * client that it refuses gets its reply at once, however long the body takes.
   *
   * @param deadline in milliseconds since the epoch.
   * @returns the body, or the reply to a client that the guard refuses.
   * @throws Failure `DEADLINE_EXCEEDED`, `OVERLOADED` or `SHUTTING_DOWN`, or the failure of the body.
   */
  async wait(
    body: Promise<Uint8Array>,
    deadline: number,
    verdict: GuardVerdict,
    exchange: Exchange,
  ): Promise<Uint8Array | HttpReply> {
    let timer: NodeJS.Timeout | undefined;
    let turn: NodeJS.Immediate | undefined;
    let end: (failure: Error) => void = ignore;
    const arrived = (): void => {
      clearImmediate(turn);
      clearTimeout(timer);
      if (this.#arriving.delete(end)) this.#places.leave();
    };
    try {
      return await new Promise<Uint8Array | HttpReply>((resolve, reject) => {
        end = reject;
        turn = setImmediate(() => {
          if (this.#ended) {
            end(shuttingDown());
            return;
          }
          try {
            this.#places.take();
          } catch (failure) {
            end(failure as Error);
            return;
          }
          this.#arriving.add(end);
          const leftMs = Math.max(0, deadline - this.#now());
          timer = setTimeout(() => {
            end(deadlineExceeded());
          }, leftMs);
          verdict.refusal().then((refusal) => {
            if (refusal === undefined) exchange.invite();
            else resolve(refusal);
          }, end);
        });
        body
          .finally(arrived)
          .catch((failure: unknown) => verdict.refuse(failure))
          .then(resolve, reject);
      });
    } finally {
      arrived();
    }
  }

  /** Stops waiting for bodies, those that are arriving and later ones. */
  end(): void {
    this.#ended = true;
    for (const end of this.#arriving) end(shuttingDown());
  }
}

const ignore = (): void => undefined;
