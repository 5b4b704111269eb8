import type { Knex } from 'knex';
import { isWrongServer } from './driver-errors.js';

/**
 * Keeps a pool from using connections that were opened before a statement found itself on the wrong server. Behind a
 * balancer, a new connection leads to the server that has taken over; an old one may still lead to the one before, which
 * refuses inserts, and does not have the latest routes.
 */
export class FreshConnections {
  /** How often a statement has found itself on the wrong server. */
  #moves = 0;
  /** The number of moves at which each connection was opened. */
  readonly #openedAt = new WeakMap<object, number>();

  /** Takes note of a new connection. */
  opened(connection: object): void {
    this.#openedAt.set(connection, this.#moves);
  }

  /** Whether the pool may use a connection; otherwise it closes it and opens another one. */
  has(connection: object): boolean {
    return this.#openedAt.get(connection) === this.#moves;
  }

  /** Learns from the statements that fail. */
  follow(knex: Knex): void {
    knex.on('query-error', (error: unknown) => {
      if (isWrongServer(error)) this.#moves++;
    });
  }
}
