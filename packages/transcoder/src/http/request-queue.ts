import type { Duplex } from 'node:stream';
import type { Exchange } from './exchange.js';

/**
 * The maximum number of requests on one connection whose responses have not been sent. Few clients send a second
 * request before the first response.
 */
export const MAX_UNSENT = 100;

/** The requests of a transcoder that arrived before an earlier response on their connection was sent. */
export interface Pipelined {
  count: number;
  /** Their maximum number on all connections. */
  readonly most: number;
}

interface Unsent {
  readonly exchange: Exchange;
  /** What counts it; undefined for the first of its connection. */
  counted: Pipelined | undefined;
}

/** The requests of one connection whose responses have not been sent, whichever transcoder serves them. */
export class RequestQueue {
  static readonly #ofSockets = new WeakMap<Duplex, RequestQueue>();

  /** The latest request, whether or not its response has been sent. */
  latest: Exchange | undefined;
  /** In the order in which their responses are sent. */
  readonly #unsent: Unsent[] = [];
  #closed: boolean;

  static of(socket: Duplex): RequestQueue {
    const known = RequestQueue.#ofSockets.get(socket);
    if (known !== undefined) return known;
    const queue = new RequestQueue(socket);
    RequestQueue.#ofSockets.set(socket, queue);
    return queue;
  }

  /** The latest request on a connection, if there is one. */
  static latestOn(socket: Duplex): Exchange | undefined {
    return RequestQueue.#ofSockets.get(socket)?.latest;
  }

  private constructor(socket: Partial<Duplex>) {
    this.#closed = socket.closed === true;
    // Adapters for functions in a cloud have an object without events in its place.
    socket.once?.('close', this.#onClose);
  }

  /**
   * Whether there is no room for another request, not even to refuse it: Node keeps reading while the client reads no
   * responses, and needs a few KiB for each request.
   */
  isFull({ count, most }: Pipelined): boolean {
    const { length } = this.#unsent;
    return length >= MAX_UNSENT || (length > 0 && count >= most);
  }

  begin(exchange: Exchange, pipelined: Pipelined): void {
    this.latest = exchange;
    if (this.#closed) {
      exchange.lose();
      return;
    }
    // Other code has responded, so nothing would take it out again.
    if (exchange.response.closed) return;
    const counted = this.#unsent.length > 0 ? pipelined : undefined;
    if (counted !== undefined) counted.count += 1;
    this.#unsent.push({ exchange, counted });
    exchange.response.once('close', this.#onSent);
  }

  readonly #onSent = (): void => {
    this.#unsent.shift();
    const [first] = this.#unsent;
    if (first !== undefined) uncount(first);
  };

  /** Node 20 and 22 do not close the responses that are still queued when their connection closes. */
  readonly #onClose = (): void => {
    this.#closed = true;
    for (const unsent of this.#unsent.splice(0)) {
      uncount(unsent);
      unsent.exchange.lose();
    }
  };
}

function uncount(unsent: Unsent): void {
  if (unsent.counted !== undefined) unsent.counted.count -= 1;
  unsent.counted = undefined;
}
