import type { Duplex } from 'node:stream';
import { overloaded } from '../failures/failure.js';
import type { Exchange } from './exchange.js';

/** The most unanswered requests of one connection. Few clients send a second one before the first is answered. */
export const MAX_UNANSWERED = 100;

/** The requests of one connection. */
class Connection {
  /** The latest request. */
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
   * Refuses requests that a client sends without waiting for responses. If it does not read the refusals either, Node
   * stops reading.
   *
   * @throws Failure `OVERLOADED`
   */
  requirePlace(): void {
    if (this.#unanswered > MAX_UNANSWERED) {
      throw overloaded(`The connection has ${MAX_UNANSWERED} requests under way.`);
    }
  }
}

/** The open connections that have received a request. */
export class Connections {
  readonly #known = new WeakMap<Duplex, Connection>();

  of(socket: Duplex): Connection {
    const known = this.#known.get(socket);
    if (known !== undefined) return known;
    const connection = new Connection();
    this.#known.set(socket, connection);
    return connection;
  }

  /** The latest request on a connection, if there is one. */
  latestOn(socket: Duplex): Exchange | undefined {
    return this.#known.get(socket)?.latest;
  }
}
