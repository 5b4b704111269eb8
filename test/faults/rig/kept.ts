import { status } from '@grpc/grpc-js';
import { tokenFor } from '../../support/service.js';
import type { Load } from '../programs/load-result.js';
import { runLoad } from './load-process.js';
import type { ServiceProcess } from './service-process.js';

const ROUNDS = 3;

/** What one caller does beside many others. */
export interface Beside {
  readonly durationMs: number;
  /** What the caller sends in a round; default: nothing. */
  readonly odd?: ((round: number) => Partial<Load>) | undefined;
  /** What it is compared with; default: nothing. */
  readonly plain?: Partial<Load> | undefined;
  /** The instance to which the caller sends; default: that of the others. */
  readonly through?: ServiceProcess | undefined;
  /** How many creates the others always have under way; default: 128. */
  readonly callers?: number;
  /** What else the others do while the caller is odd. */
  readonly others?: Partial<Load> | undefined;
}

/** What the others kept. */
export interface Kept {
  /** The part of their creates: the median of three rounds, of which each compares the odd calls with plain ones. */
  readonly kept: number;
  /** The creates per second beside plain calls, and beside odd ones, in each round. */
  readonly plain: readonly number[];
  readonly odd: readonly number[];
  /** How many of their creates failed beside odd calls. */
  readonly failed: number;
}

/** Measures what the creates of many others keep beside one caller. */
export async function keptBeside(service: ServiceProcess, beside: Beside): Promise<Kept> {
  const { durationMs, through = service, callers = 128 } = beside;
  const round = async (odd: Partial<Load> | undefined, others: Partial<Load> = {}) => {
    const token = tokenFor({ sub: 'odd' });
    const one = odd && runLoad(through, { connections: 1, durationMs, token, ...odd });
    const { goodRate, sent, ends } = await runLoad(service, {
      connections: 8,
      callers,
      durationMs,
      ...others,
    });
    await one;
    return { goodRate, failed: sent - (ends[status.OK] ?? 0) };
  };
  const [plain, odd]: [number[], number[]] = [[], []];
  let failed = 0;
  for (let number = 0; number < ROUNDS; number++) {
    plain.push((await round(beside.plain)).goodRate);
    const result = await round(beside.odd?.(number), beside.others);
    odd.push(result.goodRate);
    failed += result.failed;
  }
  const ratios = odd.map((rate, i) => rate / (plain[i] ?? 0)).sort((a, b) => a - b);
  return { kept: ratios[ROUNDS >> 1] ?? 0, plain, odd, failed };
}
