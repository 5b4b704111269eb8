import { performance } from 'node:perf_hooks';
import type { Upstream } from '@route-registry/transcoder';

/**
 * The clock of the gateway's deadlines: whole milliseconds since the epoch, counted from the start of this process, so
 * that they do not jump with the wall clock.
 */
export function now(): number {
  return Math.floor(performance.timeOrigin + performance.now());
}

/** A time of this clock on that of `performance.now()`. */
export function sinceStart(time: number): number {
  return time - performance.timeOrigin;
}

/** The same upstream for calls whose deadlines are on this clock; its own are on the wall clock. */
export function onWallClock(upstream: Upstream): Upstream {
  return {
    unary: (call) => upstream.unary({ ...call, deadline: call.deadline - now() + Date.now() }),
  };
}
