import { cpus, totalmem } from 'node:os';
import { type Figure, type Measured, middle } from '../figures.js';
import type { Scale } from '../scale.js';

const GIB = 1024 ** 3;

/** The results of one run of the benchmark. */
export interface Run {
  /** Start time, RFC 3339. */
  readonly at: string;
  /** The machine and its software. */
  readonly machine: string;
  readonly database: string;
  readonly scale: Scale;
  readonly rows: readonly Measured[];
}

/** Describes this machine in one line. */
export function describeMachine(): string {
  const [first] = cpus();
  const memory = `${Math.round(totalmem() / GIB)} GiB`;
  return `${cpus().length} × ${first?.model ?? 'unknown processor'}, ${memory}, ${process.platform}, Node ${process.version}`;
}

/** The median of a figure of the scenario with this name; undefined when it was not measured. */
export function figureOf({ rows }: Pick<Run, 'rows'>, name: string, figure: Figure): number | undefined {
  const row = rows.find((each) => each.name === name);
  return row === undefined ? undefined : middle(row, figure);
}
