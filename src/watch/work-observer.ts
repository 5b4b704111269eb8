import { performance } from 'node:perf_hooks';

/** Records when the database last did its work; an observer of the store. */
export class WorkObserver {
  #workedAt = -Infinity;

  /** By `performance.now()`; `-Infinity` for never. */
  readonly workedAt = (): number => this.#workedAt;

  begin(): (error?: unknown) => void {
    return (error) => {
      if (error === undefined) this.#workedAt = performance.now();
    };
  }
}
