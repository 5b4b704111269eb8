/** Counts by key, which take memory only while they are above zero. Nothing is counted for `undefined`. */
export class Counts {
  readonly #counts = new Map<string, number>();

  of(key: string | undefined): number {
    return key === undefined ? 0 : (this.#counts.get(key) ?? 0);
  }

  /** @param change 1 or -1. */
  add(key: string | undefined, change: number): void {
    const count = this.of(key) + change;
    if (key !== undefined && count > 0) this.#counts.set(key, count);
    else if (key !== undefined) this.#counts.delete(key);
  }
}
