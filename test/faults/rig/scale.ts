/** How thoroughly the tests of faults run. */
interface Scale {
  /** How long each load is offered, in milliseconds. */
  readonly loadMs: number;
  /** How many kills one test makes. */
  readonly kills: number;
  /** How long the mixed load of the soak goes on, in milliseconds. */
  readonly soakMs: number;
}

const SCALES: Readonly<Record<string, Scale>> = {
  short: { loadMs: 2_000, kills: 1, soakMs: 40_000 },
  long: { loadMs: 8_000, kills: 10, soakMs: 600_000 },
};

/** The scale of this run: what the variable `FAULTS` names, else `short`. */
export const scale = scaleNamed(process.env['FAULTS'] ?? 'short');

function scaleNamed(name: string): Scale {
  const found = SCALES[name];
  if (found === undefined)
    throw new Error(`FAULTS is ${JSON.stringify(name)}; it must be ${Object.keys(SCALES).join(' or ')}.`);
  return found;
}
