import type { Duplex } from 'node:stream';
import type { Exchange } from './exchange.js';

/**
 * The maximum number of requests on one connection whose responses have not been sent. Few clients send a second
 * request before the first response.
 */
export const MAX_UNSENT = 100;

/** The number of pipelined requests on all connections: those that arrived before an earlier response was sent. */
interface Pipelined {
  readonly most: number;
  count: number;
}

/** The requests of one connection whose responses have not been sent. */
class RequestQueue {
  /** The latest request, whether or not its response has been sent. */
  latest: Exchange | undefined;
  readonly #pipelined: Pipelined;
  /** In the order in which their responses are sent. */
  readonly #unsent: Exchange[] = [];
  #closed: boolean;

  constructor(socket: Duplex, pipelined: Pipelined) {
    this.#pipelined = pipelined;
    this.#closed = socket.closed;
    socket.once('close', this.#close);
  }

  /**
   * Whether there is no room for another request, not even to refuse it: Node keeps reading while the client reads no
   * responses, and needs a few KiB for each request.
   */
  get full(): boolean {
    const { length } = this.#unsent;
    const { most, count } = this.#pipelined;
    return length >= MAX_UNSENT || (length > 0 && count >= most);
  }

  begin(exchange: Exchange): void {
    this.latest = exchange;
    if (this.#closed) {
      exchange.lose();
      return;
    }
    if (this.#unsent.length > 0) this.#pipelined.count += 1;
    this.#unsent.push(exchange);
    exchange.response.once('close', this.#sent);
  }

  readonly #sent = (): void => {
    if (this.#closed) return;
    this.#unsent.shift();
    if (this.#unsent.length > 0) this.#pipelined.count -= 1;
  };

  /** Node 20 and 22 do not close the responses that are still queued when their connection closes. */
  readonly #close = (): void => {
    this.#closed = true;
    this.#pipelined.count -= Math.max(0, this.#unsent.length - 1);
    for (const exchange of this.#unsent.splice(0)) exchange.lose();
  };
}

/** The queues of the open connections that have received a request. */
export class RequestQueues {
  readonly #known = new WeakMap<Duplex, RequestQueue>();
  readonly #pipelined: Pipelined;

  /** @param most the maximum number of pipelined requests on all connections. */
  constructor(most: number) {
    this.#pipelined = { most, count: 0 };
  }

  of(socket: Duplex): RequestQueue {
    const known = this.#known.get(socket);
    if (known !== undefined) return known;
    const queue = new RequestQueue(socket, this.#pipelined);
    this.#known.set(socket, queue);
    return queue;
  }

  /** The latest request on a connection, if there is one. */
  latestOn(socket: Duplex): Exchange | undefined {
    return this.#known.get(socket)?.latest;
  }
}
