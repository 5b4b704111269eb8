import type { Duplex } from 'node:stream';
import type { Exchange } from './exchange.js';

/**
 * The most requests of one connection whose responses have not left. Few clients send a second one before the first is
 * answered.
 */
export const MAX_UNSENT = 100;

/** The requests of one connection. */
class Connection {
  /** The latest request. */
  latest: Exchange | undefined;
  readonly #pipelined: PipelinedRequests;
  #unsent = 0;

  constructor(pipelined: PipelinedRequests) {
    this.#pipelined = pipelined;
  }

  /**
   * Whether there is no room for a further request, not even to refuse it: Node reads on while its client takes no
   * response, and needs some KiB for each request.
   */
  get full(): boolean {
    return this.#unsent >= MAX_UNSENT || (this.#unsent > 0 && this.#pipelined.full);
  }

  begin(exchange: Exchange): void {
    this.latest = exchange;
    if (this.#unsent > 0) this.#pipelined.count += 1;
    this.#unsent += 1;
    exchange.response.once('close', this.#sent);
  }

  readonly #sent = (): void => {
    this.#unsent -= 1;
    if (this.#unsent > 0) this.#pipelined.count -= 1;
  };
}

/** The requests of all connections that came before the response to an earlier one had left. */
class PipelinedRequests {
  readonly #most: number;
  count = 0;

  constructor(most: number) {
    this.#most = most;
  }

  get full(): boolean {
    return this.count >= this.#most;
  }
}

/** The open connections that have received a request. */
export class Connections {
  readonly #known = new WeakMap<Duplex, Connection>();
  readonly #pipelined: PipelinedRequests;

  /** @param mostPipelined the most requests of all connections that do not wait for the response to an earlier one. */
  constructor(mostPipelined: number) {
    this.#pipelined = new PipelinedRequests(mostPipelined);
  }

  of(socket: Duplex): Connection {
    const known = this.#known.get(socket);
    if (known !== undefined) return known;
    const connection = new Connection(this.#pipelined);
    this.#known.set(socket, connection);
    return connection;
  }

  /** The latest request on a connection, if there is one. */
  latestOn(socket: Duplex): Exchange | undefined {
    return this.#known.get(socket)?.latest;
  }
}
