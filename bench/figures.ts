import { median, percentile } from './load/percentile.js';

/** The figures of a scenario, and their columns in the tables. */
export const FIGURES = {
  rate: 'requests/s',
  /** CPU time per request: of the server, of the database, and of the load generator. */
  serverCpuMs: 'server CPU ms',
  databaseCpuMs: 'database CPU ms',
  loadCpuMs: 'load CPU ms',
  /** Latency percentiles. */
  p50Ms: 'p50 ms',
  p99Ms: 'p99 ms',
  /** Resident memory of the server's processes at the end of the round. */
  rssMib: 'RSS MiB',
} as const;

export type Figure = keyof typeof FIGURES;

/** The figures of one round. Those that do not apply or could not be measured are absent. */
export type Sample = Readonly<Partial<Record<Figure, number>>>;

/** A scenario's samples, one per round. */
export interface Measured {
  readonly name: string;
  readonly samples: readonly Sample[];
}

/** The most significant digits of a published figure. */
const DIGITS = 3;
/** The most that a figure's spread may be, as a part of the figure. */
const MOST_SPREAD = 1 / 3;
/** Stands in place of a figure whose spread is larger. */
export const NOT_MEASURED = 'not measured';
/** Marks a figure whose spread is larger than this part of it. */
const ROUGH = { mark: '≈ ', spread: 1 / 10 };

/** A figure's values, one for each round that has it. */
export function valuesOf(measured: Measured | undefined, figure: Figure): number[] {
  return measured?.samples.flatMap((sample) => sample[figure] ?? []) ?? [];
}

/**
 * The ratios of a figure between two scenarios, one for each round that has both, so that a machine whose speed varies
 * between rounds does not distort them.
 */
export function ratiosOf(figure: Figure, { samples }: Measured, other: Measured): number[] {
  return samples.flatMap((sample, round) => {
    const value = sample[figure];
    const base = other.samples[round]?.[figure];
    return value === undefined || base === undefined ? [] : [value / base];
  });
}

/** The median of the values of all rounds, and their quartiles; of three rounds, these are the farther rounds. */
export function quartilesOf(values: readonly number[]): { low: number; middle: number; high: number } {
  const sorted = Float64Array.from(values).sort();
  return { low: percentile(sorted, 25), middle: median(values), high: percentile(sorted, 75) };
}

/** Whether the values of all rounds are near enough to each other to be a figure. */
export function isMeasured(values: readonly number[]): boolean {
  return values.length > 0 && spreadOf(values) <= MOST_SPREAD * median(values);
}

/** The distance from the median to the farther quartile. */
function spreadOf(values: readonly number[]): number {
  const { low, middle, high } = quartilesOf(values);
  return Math.max(high - middle, middle - low);
}

/**
 * Formats the values of all rounds as their median and, behind "±", the distance to the farther quartile, with one digit.
 * The median ends with the same place, but has at least one digit and at most three.
 *
 * @returns an empty string when there are no values, and "not measured" when they are too far apart; with "≈" if they are
 *   farther apart than a tenth
 */
export function formatFigure(values: readonly number[]): string {
  if (values.length === 0) return '';
  if (!isMeasured(values)) return NOT_MEASURED;
  const middle = median(values);
  const spread = spreadOf(values);
  const finest = place(middle) - DIGITS + 1;
  const last = spread === 0 ? finest : Math.max(place(spread), finest);
  // A spread is shown as no less than the last digit.
  const least = spread === 0 ? 0 : Math.max(spread, 10 ** last);
  const mark = spread > ROUGH.spread * middle ? ROUGH.mark : '';
  return `${mark}${textAtPlace(middle, Math.min(last, place(middle)))} ± ${textAtPlace(least, last)}`;
}

/** A number rounded to a power of ten, as text. */
function textAtPlace(value: number, last: number): string {
  const decimals = Math.max(0, -last);
  // Versions of V8 differ in the last bit of negative powers of ten.
  const scale = 10 ** Math.abs(last);
  const toPlace = last < 0 ? Math.round(value * scale) / scale : Math.round(value / scale) * scale;
  return toPlace.toLocaleString('en', {
    minimumFractionDigits: decimals,
    maximumFractionDigits: decimals,
  });
}

/** The power of ten of a number's first digit, once it is rounded to that digit: 3 for 4,999, and 4 for 9,999. */
function place(value: number): number {
  return Number(value.toExponential(0).split('e')[1]);
}
