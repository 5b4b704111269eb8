import { readFileSync } from 'node:fs';
import { cpus, totalmem } from 'node:os';
import { median } from './load/percentile.js';

const GIB = 1024 ** 3;
/** Steps of the fixed loop: about a tenth of a second. */
const STEPS = 1e8;
/** A loop that takes longer than the fastest of the run by this factor shows that something disturbs the machine. */
const DISTURBED = 1.3;

/** How steady a machine was during a run. */
export interface Steadiness {
  /** How long a fixed loop took each time, in milliseconds. */
  readonly loopsMs: readonly number[];
  /** The share of the time of all cores that the host gave to other machines. */
  readonly stolen: number;
}

/** Watches how steady the machine is from its construction on. */
export class Machine {
  readonly #loopsMs: number[] = [];
  readonly #start = cpuTimes();
  /** Compiles the loop, and links each to the next, so that none is optimized away. */
  #seed = loop(0);

  /** Times the fixed loop. Nothing of the benchmark may run meanwhile. @returns whether the machine was undisturbed */
  sample(): boolean {
    const begin = performance.now();
    this.#seed = loop(this.#seed);
    const loopMs = performance.now() - begin;
    this.#loopsMs.push(loopMs);
    return loopMs <= DISTURBED * Math.min(...this.#loopsMs);
  }

  steadiness(): Steadiness {
    const { all, stolen } = cpuTimes();
    return { loopsMs: this.#loopsMs, stolen: (stolen - this.#start.stolen) / (all - this.#start.all) };
  }
}

/** Describes this machine in one line. */
export function describeMachine(): string {
  const [first] = cpus();
  const memory = `${Math.round(totalmem() / GIB)} GiB`;
  return `${cpus().length} × ${first?.model ?? 'unknown processor'}, ${memory}, ${process.platform}, Node ${process.version}`;
}

/** Says in a sentence how steady the machine was. A round beside a disturbed loop was repeated. */
export function describeSteadiness({ loopsMs, stolen }: Steadiness): string {
  const share = `${(stolen * 100).toFixed(1)} %`;
  return `A fixed loop between the rounds took ${median(loopsMs).toFixed(0)} ms in the median and ${Math.min(...loopsMs).toFixed(0)} ms at its fastest; the host took ${share} of the cores' time for others.`;
}

/** @throws Error when the machine was too unsteady for figures that are published, whatever these figures are */
export function requireSteady({ loopsMs }: Steadiness): void {
  const [usual, fastest] = [median(loopsMs), Math.min(...loopsMs)];
  if (usual <= DISTURBED * fastest) return;
  throw new Error(
    `Nothing is written: the fixed loop took ${usual.toFixed(0)} ms in the median, more than ${DISTURBED} times its fastest ${fastest.toFixed(0)} ms. Measure on a quiet machine.`,
  );
}

function loop(seed: number): number {
  let sum = seed;
  for (let i = 0; i < STEPS; i++) sum = Math.imul(sum ^ i, 0x9e3779b1);
  return sum;
}

/** The time that all cores have spent since boot, and what of it the host gave to other machines, in ticks (proc_stat(5)). */
function cpuTimes(): { all: number; stolen: number } {
  const [, ...fields] = (readFileSync('/proc/stat', 'latin1').split('\n')[0] ?? '').split(/\s+/);
  // The last two, guest times, are part of the first two.
  const times = fields.slice(0, 8).map(Number);
  return { all: times.reduce((sum, time) => sum + time, 0), stolen: times[7] ?? 0 };
}
