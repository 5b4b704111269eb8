import { type Measured, middle, type Sample } from './figures.js';
import { median } from './load/percentile.js';

/** What a scenario must reach. A baseline is the name of a scenario of the same run. */
export type Goal =
  /** So many times the requests a second of the baseline. */
  | { readonly kind: 'rate'; readonly baseline: string; readonly atLeast: number }
  /** CPU time of the server for a request. */
  | { readonly kind: 'cpu'; readonly atMostMs: number }
  /** CPU time of server and database for a request, as a multiple of the baseline's. */
  | { readonly kind: 'cost'; readonly baseline: string; readonly atMost: number }
  /** The 99th percentile of the latency, beyond the baseline's. */
  | { readonly kind: 'p99'; readonly baseline: string; readonly atMostMs: number }
  | { readonly kind: 'memory'; readonly atMostMib: number }
  /** The median of the latency. */
  | { readonly kind: 'time'; readonly atMostMs: number };

/** How a goal stands. */
export interface Verdict {
  readonly measured: string;
  readonly toReach: string;
  readonly ok: boolean;
}

/** Judges a scenario by the median of its rounds; ratios are taken within each round first. */
export function judge(goal: Goal, measured: Measured, all: readonly Measured[]): Verdict {
  switch (goal.kind) {
    case 'rate': {
      const ratio = ratioOf(measured, baselineOf(goal.baseline, all), ({ rate }) => rate ?? Number.NaN);
      return verdict(`${ratio.toFixed(2)} × ${goal.baseline}`, `≥ ${goal.atLeast} ×`, ratio >= goal.atLeast);
    }
    case 'cpu': {
      const cpu = middle(measured, 'serverCpuMs') ?? Number.NaN;
      return verdict(`${cpu.toFixed(3)} ms CPU`, `≤ ${goal.atMostMs} ms`, cpu <= goal.atMostMs);
    }
    case 'cost': {
      const ratio = ratioOf(measured, baselineOf(goal.baseline, all), costOf);
      return verdict(
        `${ratio.toFixed(2)} × CPU of ${goal.baseline}`,
        `≤ ${goal.atMost} ×`,
        ratio <= goal.atMost,
      );
    }
    case 'p99': {
      const baseline = middle(baselineOf(goal.baseline, all), 'p99Ms') ?? Number.NaN;
      const over = (middle(measured, 'p99Ms') ?? Number.NaN) - baseline;
      return verdict(
        `${over.toFixed(2)} ms over ${goal.baseline}`,
        `≤ ${goal.atMostMs} ms`,
        over <= goal.atMostMs,
      );
    }
    case 'memory': {
      const rss = middle(measured, 'rssMib') ?? Number.NaN;
      return verdict(`${rss.toFixed(0)} MiB`, `≤ ${goal.atMostMib} MiB`, rss <= goal.atMostMib);
    }
    case 'time': {
      const time = middle(measured, 'p50Ms') ?? Number.NaN;
      return verdict(`${time.toFixed(0)} ms`, `≤ ${goal.atMostMs} ms`, time <= goal.atMostMs);
    }
  }
}

function verdict(measured: string, toReach: string, ok: boolean): Verdict {
  return { measured, toReach, ok };
}

function baselineOf(name: string, all: readonly Measured[]): Measured {
  const found = all.find((each) => each.name === name);
  if (found === undefined) throw new Error(`No scenario is called "${name}".`);
  return found;
}

function ratioOf(measured: Measured, baseline: Measured, figure: (sample: Sample) => number): number {
  return median(
    measured.samples.map((sample, round) => {
      const other = baseline.samples[round];
      return other === undefined ? Number.NaN : figure(sample) / figure(other);
    }),
  );
}

function costOf({ serverCpuMs, databaseCpuMs }: Sample): number {
  return (serverCpuMs ?? Number.NaN) + (databaseCpuMs ?? 0);
}
