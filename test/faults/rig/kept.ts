import { status } from '@grpc/grpc-js';
import { median } from '../../../bench/load/percentile.js';
import { tokenFor } from '../../support/service.js';
import type { Load } from '../programs/load-messages.js';
import { runLoad } from './load-process.js';
import type { ServiceProcess } from './service-process.js';

const FEWEST_ROUNDS = 3;
/** The most rounds of a comparison. */
const MOST_ROUNDS = 11;

/** What is left of a rate. */
export interface Share {
  /** The part: the median of the rounds. */
  readonly kept: number;
  /** The rates beside what is plain, and beside what is odd, in each round. */
  readonly plain: readonly number[];
  readonly odd: readonly number[];
}

/**
 * Compares a rate beside something odd with the rate beside something plain, in three rounds or, as long as less than
 * the goal is left, up to eleven: whatever else runs on the machine disturbs single rounds.
 */
export async function shareOf(
  goal: number,
  plain: (round: number) => Promise<number>,
  odd: (round: number) => Promise<number>,
): Promise<Share> {
  const rates: { readonly plain: number[]; readonly odd: number[] } = { plain: [], odd: [] };
  const kept = (): number => median(rates.odd.map((rate, round) => rate / (rates.plain[round] ?? 0)));
  for (let round = 0; round < FEWEST_ROUNDS || (round < MOST_ROUNDS && kept() < goal); round++) {
    rates.plain.push(await plain(round));
    rates.odd.push(await odd(round));
  }
  return { kept: kept(), ...rates };
}

/** What one caller does beside many others. */
export interface Beside {
  /** The part of their creates that the others shall keep. */
  readonly goal: number;
  readonly durationMs: number;
  /** What the caller sends in a round; default: nothing. */
  readonly odd?: ((round: number) => Partial<Load>) | undefined;
  /** What it is compared with; default: nothing. */
  readonly plain?: Partial<Load> | undefined;
  /** The instance to which the caller sends; default: that of the others. */
  readonly through?: ServiceProcess | undefined;
  /** How many creates the others always have under way; default: 128. */
  readonly callers?: number;
  /** What else the others do all the time. */
  readonly always?: Partial<Load> | undefined;
  /** What else the others do while the caller is odd. */
  readonly others?: Partial<Load> | undefined;
}

/** What the others kept of their creates. */
export interface Kept extends Share {
  /** How many of their creates failed beside odd calls. */
  readonly failed: number;
}

/** Measures what the creates of many others keep beside one caller. */
export async function keptBeside(service: ServiceProcess, beside: Beside): Promise<Kept> {
  const { goal, durationMs, through = service, callers = 128, always } = beside;
  const round = async (odd: Partial<Load> | undefined, others: Partial<Load> = {}) => {
    const token = tokenFor({ sub: 'odd' });
    const oddLoad = odd && runLoad(through, { connections: 1, durationMs, token, ...odd });
    const { goodRate, sent, ends } = await runLoad(service, {
      connections: 8,
      callers,
      durationMs,
      ...always,
      ...others,
    });
    await oddLoad;
    return { goodRate, failed: sent - (ends[status.OK] ?? 0) };
  };
  let failed = 0;
  const share = await shareOf(
    goal,
    async () => (await round(beside.plain)).goodRate,
    async (number) => {
      const result = await round(beside.odd?.(number), beside.others);
      failed += result.failed;
      return result.goodRate;
    },
  );
  return { ...share, failed };
}
