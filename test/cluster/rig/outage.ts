import { type Create, isGood } from '../../faults/rig/callers.js';

/** The longest time without an acknowledged create, in seconds. */
export function outageSeconds(creates: readonly Create[]): number {
  const times = creates.filter(({ end }) => isGood(end)).map(({ endedAt }) => endedAt);
  const sorted = times.sort((a, b) => a - b);
  const gaps = sorted.slice(1).map((time, i) => time - (sorted[i] ?? time));
  return Math.max(0, ...gaps) / 1_000;
}
