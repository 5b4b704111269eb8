/** How thoroughly the tests of faults run. */
export interface Scale {
  /** Multiples of the peak, and over how many connections they are offered. */
  readonly loads: readonly { readonly times: number; readonly connections: number }[];
  /** How long each load is offered, in milliseconds. */
  readonly loadMs: number;
  /** Rounds of each load, of whose figures the median counts. */
  readonly rounds: number;
  /** How many kills one test makes. */
  readonly kills: number;
  /** How long the mixed load of the soak goes on, in milliseconds. */
  readonly soakMs: number;
}

const LOADS = [1, 2, 4].flatMap((times) => [8, 64].map((connections) => ({ times, connections })));

const SCALES: Readonly<Record<string, Scale>> = {
  brief: {
    loads: LOADS.filter(({ times, connections }) => times === 4 || (times === 1 && connections === 8)),
    loadMs: 1_500,
    rounds: 1,
    kills: 1,
    soakMs: 10_000,
  },
  short: { loads: LOADS, loadMs: 2_000, rounds: 1, kills: 1, soakMs: 40_000 },
  long: { loads: LOADS, loadMs: 8_000, rounds: 3, kills: 10, soakMs: 600_000 },
};

/** The scale of this run: what the variable `FAULTS` names; `brief` without it, as one part of all tests. */
export const scale = scaleNamed(process.env['FAULTS'] ?? 'brief');

function scaleNamed(name: string): Scale {
  const found = SCALES[name];
  if (found === undefined)
    throw new Error(`FAULTS is ${JSON.stringify(name)}; it must be ${Object.keys(SCALES).join(' or ')}.`);
  return found;
}
