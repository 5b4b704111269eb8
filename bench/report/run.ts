import { cpus, totalmem } from 'node:os';
import type { Anatomy } from '../anatomy.js';
import type { Scale } from '../scale.js';
import type { Curve } from '../offered-load.js';
import type { Row } from './table.js';

const GIB = 1024 ** 3;

/** Everything that one run of the benchmark found, as `bench/results/` keeps it. */
export interface Run {
  /** When it began, RFC 3339. */
  readonly at: string;
  /** The machine and its software. */
  readonly machine: string;
  readonly database: string;
  readonly scale: Scale;
  readonly rows: readonly Row[];
  readonly curves: readonly Curve[];
  readonly anatomies: readonly Anatomy[];
}

/** This machine in a line. */
export function describeMachine(): string {
  const [first] = cpus();
  const memory = `${Math.round(totalmem() / GIB)} GiB`;
  return `${cpus().length} × ${first?.model ?? 'unknown processor'}, ${memory}, ${process.platform}, Node ${process.version}`;
}
