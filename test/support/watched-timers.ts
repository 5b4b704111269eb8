import { onTestFinished, vi } from 'vitest';

/**
 * Watches the timers with these delays, in milliseconds, that are set from now on until the test ends. They should be
 * odd values, which nobody else uses: what other tests of the process have left may set timers, too.
 *
 * @returns a function that tells how many of them have been set, and how many of those have not been cleared
 */
export function watchTimers(...delays: readonly number[]): () => { set: number; left: number } {
  const setters = [vi.spyOn(globalThis, 'setTimeout'), vi.spyOn(globalThis, 'setInterval')];
  const clearers = [vi.spyOn(globalThis, 'clearTimeout'), vi.spyOn(globalThis, 'clearInterval')];
  onTestFinished(() => void vi.restoreAllMocks());

  return () => {
    const timers = setters.flatMap(({ mock }) =>
      mock.results
        .filter((_, i) => delays.includes(Number(mock.calls[i]?.[1])))
        .map(({ value }): unknown => value),
    );
    const cleared = new Set<unknown>(clearers.flatMap(({ mock }) => mock.calls.map(([timer]) => timer)));
    return { set: timers.length, left: timers.filter((timer) => !cleared.has(timer)).length };
  };
}
