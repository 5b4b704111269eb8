import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import { Callers, type Create, isGood } from './callers.js';
import type { ServiceProcess } from './service-process.js';

/** A usual answer takes less than this, in milliseconds, also on a busy machine. */
const USUAL_MS = 100;
const LIMIT_MS = 15_000;

/** How long it takes from now until a create is answered as usual over each protocol, in milliseconds; at most 15,000. */
export async function answersAgainMs({ grpc, http }: ServiceProcess): Promise<number> {
  const start = performance.now();
  const callers = new Callers({ grpc, http, each: 1 });
  const found = (): boolean =>
    (['grpc', 'rest'] as const).every((protocol) =>
      callers.creates.some((each) => each.protocol === protocol && isGood(each.end) && each.ms < USUAL_MS),
    );
  while (!found() && performance.now() - start < LIMIT_MS) await sleep(10);
  const elapsed = performance.now() - start;
  await callers.stop();
  return elapsed;
}

/** Waits until both protocols acknowledge creates that began after now; resolves with the milliseconds that took. */
export async function acknowledgedAgain(callers: Callers): Promise<number> {
  const start = performance.now();
  const back = ({ protocol, end, endedAt, ms }: Create, wanted: string): boolean =>
    protocol === wanted && isGood(end) && endedAt - ms > start;
  await expect
    .poll(() => ['grpc', 'rest'].map((protocol) => callers.creates.some((each) => back(each, protocol))), {
      timeout: LIMIT_MS,
      interval: 20,
    })
    .toEqual([true, true]);
  return performance.now() - start;
}
