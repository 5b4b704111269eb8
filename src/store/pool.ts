import type { Knex } from 'knex';

/** How long a call waits for a free connection, in milliseconds: less than the default deadline of a call. */
export const ACQUIRE_TIMEOUT_MS = 3_000;

/** Keeps Knex from printing SQL to the console; failures are thrown anyway. */
export const SILENT_LOGGER: Knex.Logger = { warn: ignore, error: ignore, deprecate: ignore, debug: ignore };

function ignore(): void {
  return undefined;
}

/** Connections that no pool uses again. */
const discarded = new WeakSet<object>();

/** Makes the pool replace a connection that it lent, once it is released. MySQL's ends at once, with its transaction. */
export function discard(connection: object): void {
  discarded.add(connection);
  (connection as { destroy?: () => void }).destroy?.();
}

export function isDiscarded(connection: object): boolean {
  return discarded.has(connection);
}

/** The connections of a pool, and the statements that wait for a connection. */
export interface PoolFigures {
  readonly used: number;
  readonly free: number;
  readonly waiting: number;
}

/** Knex's pool is tarn's. */
interface Pool {
  numUsed(): number;
  numFree(): number;
  numPendingAcquires(): number;
}

/** The current use of a database's connections; all 0 once it is closed. */
export function poolFigures(knex: Knex): PoolFigures {
  const { pool } = knex.client as { pool?: Pool };
  if (pool === undefined) return { used: 0, free: 0, waiting: 0 };
  return { used: pool.numUsed(), free: pool.numFree(), waiting: pool.numPendingAcquires() };
}
