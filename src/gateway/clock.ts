import { performance } from 'node:perf_hooks';

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

/** A time of this clock on the wall clock. */
export function onWallClock(time: number): number {
  return time - now() + Date.now();
}
