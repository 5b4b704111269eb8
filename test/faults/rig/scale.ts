/** How thorough the fault tests are. */
interface Scale {
  /** The duration of each load, in milliseconds. */
  readonly loadMs: number;
  /** The number of kills in one test. */
  readonly kills: number;
  /** The duration of the mixed life, in milliseconds. */
  readonly soakMs: number;
  /** How far away a database is: the times of a round trip, in milliseconds. */
  readonly awayMs: readonly number[];
  /** How many callers share a database in which somebody holds a lock. */
  readonly besideLocks: readonly number[];
}

const SCALES: Readonly<Record<string, Scale>> = {
  short: {
    loadMs: 1_500,
    kills: 1,
    soakMs: 25_000,
    awayMs: [60],
    besideLocks: [128],
  },
  long: {
    loadMs: 8_000,
    kills: 10,
    soakMs: 600_000,
    awayMs: [2, 10, 60],
    besideLocks: [16, 128],
  },
};

/** The scale of this run, from the environment variable `FAULTS`; default: `short`. */
export const scale = scaleNamed(process.env['FAULTS'] ?? 'short');

function scaleNamed(name: string): Scale {
  const found = SCALES[name];
  if (found === undefined)
    throw new Error(`FAULTS is ${JSON.stringify(name)}; it must be ${Object.keys(SCALES).join(' or ')}.`);
  return found;
}
