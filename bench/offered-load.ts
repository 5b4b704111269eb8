import type { Rounds } from './rounds.js';
import type { Scale } from './scale.js';
import type { Scenario } from './scenarios.js';

/** A server that answers less than this share of what it is offered has reached its limit. */
const KEPT_UP = 0.95;

/** The result of one rate of requests. */
export interface Point {
  /** Requests a second that were due, and that were answered. */
  readonly offered: number;
  readonly answered: number;
  readonly p99Ms: number;
}

/** The points of one server, up to the first rate that it could not keep up with. */
export interface Curve {
  readonly name: string;
  readonly points: readonly Point[];
}

/** Offers a scenario's requests in an open loop, faster and faster. */
export async function offerLoad(rounds: Rounds, scenario: Scenario, { offered }: Scale): Promise<Curve> {
  const points: Point[] = [];
  for (const rate of offered) {
    const { sample } = await rounds.measure(scenario, { rate });
    const { rate: answered = 0, p99Ms = Number.NaN } = sample;
    points.push({ offered: rate, answered, p99Ms });
    if (answered < rate * KEPT_UP) break;
  }
  return { name: scenario.name, points };
}
