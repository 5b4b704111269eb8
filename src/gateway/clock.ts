import { performance } from 'node:perf_hooks';
import type { Upstream } from '@route-registry/transcoder';

/**
 * The clock of the gateway's deadlines: whole milliseconds since the epoch. It is monotonic within this process, so
 * that deadlines do not move when the wall clock jumps.
 */
export function now(): number {
  return Math.floor(performance.timeOrigin + performance.now());
}

/** Converts a time of this clock to the clock of `performance.now()`. */
export function sinceStart(time: number): number {
  return time - performance.timeOrigin;
}

/** Adapts an upstream that expects deadlines on the wall clock to calls with deadlines on this clock. */
export function onWallClock(upstream: Upstream): Upstream {
  return {
    unary: (call) => upstream.unary({ ...call, deadline: call.deadline - now() + Date.now() }),
  };
}
