/** The size of a run of the benchmark. */
export interface Scale {
  readonly name: 'full' | 'quick';
  readonly rounds: number;
  /** Rounds before those, which are not counted: Node compiles what a server runs often only after seconds of load. */
  readonly warmUpRounds: number;
  /** For each run of the load generator, in milliseconds. */
  readonly warmUpMs: number;
  readonly durationMs: number;
  /** Number of distinct routes that are requested, and therefore cached. */
  readonly routes: number;
  /** Numbers of stored routes at which growth is measured, in ascending order. */
  readonly growth: readonly number[];
}

/** The scale of the published figures. */
export const FULL: Scale = {
  name: 'full',
  rounds: 10,
  warmUpRounds: 2,
  warmUpMs: 400,
  durationMs: 3_000,
  routes: 100_000,
  growth: [1_000, 1_000_000],
};

/** The scale of a comparison with another version, for each start of the servers. It must detect a difference of 5 %. */
export const GUARD: Scale = { ...FULL, rounds: 3, warmUpRounds: 1, durationMs: 1_000, routes: 10_000 };

/** Good enough to see the effect of a change, too rough to publish. */
export const QUICK: Scale = {
  name: 'quick',
  rounds: 3,
  warmUpRounds: 0,
  warmUpMs: 200,
  durationMs: 500,
  routes: 10_000,
  growth: [1_000, 100_000],
};
