import { type Contender, type Kind, scenarioName } from './contenders.js';
import type { Measured } from './figures.js';
import type { Steadiness } from './machine.js';
import type { Scale } from './scale.js';

/** The results of one run of the benchmark. */
export interface Run {
  /** Start time, RFC 3339. */
  readonly at: string;
  /** The machine and its software. */
  readonly machine: string;
  readonly steadiness: Steadiness;
  readonly database: string;
  readonly scale: Scale;
  readonly rows: readonly Measured[];
}

/** The samples of a scenario; undefined if it was not measured. */
export function rowNamed({ rows }: Run, name: string): Measured | undefined {
  return rows.find((row) => row.name === name);
}

/** The samples of a contender with requests of a kind; undefined if it does not serve them. */
export function rowOf(run: Run, kind: Kind, contender: Contender): Measured | undefined {
  return contender.targets[kind.name] && rowNamed(run, scenarioName(kind, contender));
}
