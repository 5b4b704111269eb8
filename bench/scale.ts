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
  /** Requests a second that the plot offers. */
  readonly offered: readonly number[];
}

/** The scale of the figures in the documents. */
export const FULL: Scale = {
  name: 'full',
  rounds: 9,
  warmUpMs: 500,
  durationMs: 2_000,
  routes: 100_000,
  growth: [1_000, 100_000, 10_000_000],
  offered: [500, 1_000, 2_000, 4_000, 6_000, 8_000, 10_000, 12_000, 16_000, 20_000],
};

/** Good for seeing what a change did, not for the documents. */
export const QUICK: Scale = {
  name: 'quick',
  rounds: 3,
  warmUpMs: 200,
  durationMs: 500,
  routes: 10_000,
  growth: [1_000, 100_000],
  offered: [500, 4_000],
};
