/** The length and breadth of a run of the benchmark. */
export interface Scale {
  readonly name: 'full' | 'quick';
  readonly rounds: number;
  /** For each run of the load generator. */
  readonly warmUpMs: number;
  readonly durationMs: number;
  /** How many different routes are asked for, and so cached. */
  readonly routes: number;
  /** Numbers of stored routes among which growth is seen, in ascending order. */
  readonly growth: readonly number[];
}

/** The scale of the figures in the documents. */
export const FULL: Scale = {
  name: 'full',
  rounds: 5,
  warmUpMs: 400,
  durationMs: 1_400,
  routes: 100_000,
  growth: [1_000, 100_000, 1_000_000],
};

/** The scale of a comparison with another version, which has to see a twentieth. */
export const GUARD: Scale = { ...FULL, rounds: 9, durationMs: 2_000 };

/** Good for seeing what a change did, not for the documents. */
export const QUICK: Scale = {
  name: 'quick',
  rounds: 3,
  warmUpMs: 200,
  durationMs: 500,
  routes: 10_000,
  growth: [1_000, 100_000],
};
