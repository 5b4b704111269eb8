import type { Knex } from 'knex';

/** The connections of a pool, and the statements that wait for one. */
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

/** The current use of a database's connections; all 0 once it is closed. */
export function poolFigures(knex: Knex): PoolFigures {
  const { pool } = knex.client as { pool?: Pool };
  if (pool === undefined) return { used: 0, free: 0, waiting: 0 };
  return { used: pool.numUsed(), free: pool.numFree(), waiting: pool.numPendingAcquires() };
}
