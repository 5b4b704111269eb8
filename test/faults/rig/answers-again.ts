import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import { Callers, type Create, isGood } from './callers.js';
import type { ServiceProcess } from './service-process.js';

/** A usual response takes less than this, in milliseconds, even on a busy machine. */
const USUAL_MS = 100;
const LIMIT_MS = 15_000;

/** The time until a create over each protocol is as fast as usual again, in milliseconds; at most 15,000. */
export async function answersAgainMs({ grpc, http }: ServiceProcess): Promise<number> {
  const start = performance.now();
  const callers = new Callers({ grpc, http, each: 1 });
  const found = (): boolean =>
    (['grpc', 'rest'] as const).every((protocol) =>
      callers.creates.some(
        (create) => create.protocol === protocol && isGood(create.end) && create.ms < USUAL_MS,
      ),
    );
  while (!found() && performance.now() - start < LIMIT_MS) await sleep(10);
  const elapsed = performance.now() - start;
  await callers.stop();
  return elapsed;
}

/** Waits until both protocols acknowledge creates that begin from now on; resolves with the time in milliseconds. */
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
