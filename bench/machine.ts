import { readFileSync } from 'node:fs';
import { cpus, totalmem } from 'node:os';
import { median } from './load/percentile.js';

const GIB = 1024 ** 3;
/** Steps of the fixed loop: about a tenth of a second. */
const STEPS = 1e8;
/** A machine is called disturbed when a loop takes longer than the fastest by this factor, or that share is stolen. */
const STEADY = 1.2;
const STOLEN = 0.02;

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

  /** Times the fixed loop. Nothing else may run on the machine. */
  sample(): void {
    const begin = performance.now();
    this.#seed = loop(this.#seed);
    this.#loopsMs.push(performance.now() - begin);
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

/** Says in a sentence how steady the machine was. */
export function describeSteadiness({ loopsMs, stolen }: Steadiness): string {
  const slowest = Math.max(...loopsMs) / Math.min(...loopsMs);
  const share = `${(stolen * 100).toFixed(1)} %`;
  const verdict =
    slowest > STEADY || stolen > STOLEN
      ? '**The machine was disturbed**, which the spreads include'
      : 'The machine was steady';
  return `${verdict}: before each round, a fixed loop took ${median(loopsMs).toFixed(0)} ms in the median, at its slowest ${slowest.toFixed(2)} times as long as at its fastest, and the host took ${share} of the time of the cores for others.`;
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
  return { all: times.reduce((sum, each) => sum + each, 0), stolen: times[7] ?? 0 };
}
