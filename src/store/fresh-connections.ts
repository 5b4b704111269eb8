import type { Knex } from 'knex';
import { isWrongServer } from './driver-errors.js';

/**
 * Keeps a pool from using connections that were opened before a statement reached the wrong server. Behind a load
 * balancer, a new connection leads to the server that has taken over. An old one may still lead to the previous server,
 * which refuses inserts and lacks the latest routes.
 */
export class FreshConnections {
  /** How often a statement has reached the wrong server. */
  #moves = 0;
  /** The number of moves at which each connection was opened. */
  readonly #openedAt = new WeakMap<object, number>();

  /** Records a new connection. */
  opened(connection: object): void {
    this.#openedAt.set(connection, this.#moves);
  }

  /** Whether the pool may use a connection; otherwise the pool replaces the connection by a new one. */
  has(connection: object): boolean {
    return this.#openedAt.get(connection) === this.#moves;
  }

  /** Listens for statements that fail. */
  follow(knex: Knex): void {
    knex.on('query-error', (error: unknown) => {
      if (isWrongServer(error)) this.#moves++;
    });
  }
}
