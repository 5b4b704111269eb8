import { Counts } from '../counts.js';
import { deadlineExceeded, overloaded, shuttingDown } from '../failures/failure.js';
import type { UnaryReply } from '../upstream.js';
import type { ArrivingBody } from './body.js';
import type { Exchange } from './exchange.js';

const ignore = (): void => undefined;

/** A request whose body is still arriving, and whose client the guard may refuse. */
export interface PendingRequest {
  /** The credential, which tells its caller apart from others; undefined if it has none. */
  readonly caller: string | undefined;
  /** The guard's refusal; undefined if it lets the client pass. The guard is asked once. */
  guardRefusal(): Promise<UnaryReply | undefined>;
  /**
   * The guard's refusal, which takes precedence over a failure: the client then learns nothing about that.
   *
   * @throws the failure (rejects), if the guard lets the client pass.
   */
  guardRefusalOrThrow(failure: unknown): Promise<UnaryReply>;
}

/** The part of the places for arriving requests that one caller may have. */
const OF_ONE_CALLER = 1 / 4;

/** The request bodies that did not arrive together with their heads. */
export class Uploads {
  readonly #now: () => number;
  readonly #most: number;
  readonly #mostOfCaller: number;
  /** Fails each of the bodies that are waited for. */
  readonly #waiting = new Set<(failure: Error) => void>();
  /** How many clients have been admitted by the guard: before, a late body gains nothing over a whole body. */
  #arriving = 0;
  readonly #callers = new Counts();
  #ended = false;

  /**
   * @param maxRequests the maximum number of requests. Half of them, and at least one, may be arriving; the rest is
   *   reserved for requests that have arrived. One caller gets at most a quarter of the half, and at least one.
   */
  constructor(now: () => number, maxRequests: number) {
    this.#now = now;
    this.#most = Math.max(1, Math.floor(maxRequests / 2));
    this.#mostOfCaller = Math.max(1, Math.floor(this.#most * OF_ONE_CALLER));
  }

  /**
   * Waits for a body. If the body is incomplete at the end of this turn of the event loop, the guard is called, and a
   * client that it refuses gets that reply at once, however long the body takes.
   *
   * @param deadline in milliseconds, by the clock of all deadlines.
   * @returns the body, or the guard's refusal of the client.
   * @throws HttpFailure `DEADLINE_EXCEEDED`, `OVERLOADED` or `SHUTTING_DOWN`, or the failure of the body.
   */
  async wait(
    body: ArrivingBody,
    deadline: number,
    request: PendingRequest,
    exchange: Exchange,
  ): Promise<Uint8Array | UnaryReply> {
    let timer: NodeJS.Timeout | undefined;
    let turn: NodeJS.Immediate | undefined;
    let fail: (failure: Error) => void = ignore;
    let freePlace = ignore;

    const stopWaiting = (): void => {
      clearImmediate(turn);
      clearTimeout(timer);
      this.#waiting.delete(fail);
      freePlace();
      freePlace = ignore;
    };

    /** Refuses the client, or lets it send the rest. */
    const follow = (refusal: UnaryReply | undefined, refuse: (refusal: UnaryReply) => void): void => {
      if (refusal !== undefined) {
        refuse(refusal);
      } else if (this.#waiting.has(fail)) {
        freePlace = this.#takePlace(request.caller);
        exchange.send100Continue();
      }
    };

    try {
      return await new Promise<Uint8Array | UnaryReply>((resolve, reject) => {
        fail = reject;
        turn = setImmediate(() => {
          if (this.#ended) {
            fail(shuttingDown());
            return;
          }
          this.#waiting.add(fail);
          const leftMs = Math.max(0, deadline - this.#now());
          timer = setTimeout(() => {
            fail(deadlineExceeded());
          }, leftMs);
          request
            .guardRefusal()
            .then((refusal) => {
              follow(refusal, resolve);
            })
            .catch(fail);
        });

        body.whole
          .finally(stopWaiting)
          .catch((failure: unknown) => request.guardRefusalOrThrow(failure))
          .then(resolve, reject);
      });
    } finally {
      stopWaiting();
      body.stop();
    }
  }

  /** Stops waiting for bodies, those that are arriving and later ones. */
  end(): void {
    this.#ended = true;
    for (const fail of this.#waiting) fail(shuttingDown());
  }

  /** Takes a place. @returns the function that frees it. @throws HttpFailure `OVERLOADED` */
  #takePlace(caller: string | undefined): () => void {
    if (this.#arriving >= this.#most)
      throw overloaded(`It has ${this.#most} requests that are still arriving.`);
    // Without a credential, nothing tells callers apart.
    if (this.#callers.of(caller) >= this.#mostOfCaller)
      throw overloaded(`The caller has ${this.#mostOfCaller} requests that are still arriving.`);

    this.#arriving += 1;
    this.#callers.add(caller, 1);
    return () => {
      this.#arriving -= 1;
      this.#callers.add(caller, -1);
    };
  }
}
