import type { Knex } from 'knex';

/** The connections of a pool, and who waits for one. */
export interface PoolFigures {
  readonly used: number;
  readonly free: number;
  readonly waiting: number;
}

/** The part of Knex's pool, a `Pool` of tarn, that is used here. */
interface Pool {
  numUsed(): number;
  numFree(): number;
  numPendingAcquires(): number;
}

/** How the connections of a database are used now. */
export function poolFigures(knex: Knex): PoolFigures {
  const { pool } = knex.client as { pool: Pool };
  return { used: pool.numUsed(), free: pool.numFree(), waiting: pool.numPendingAcquires() };
}
