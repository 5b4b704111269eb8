/** Assigns unique names: each owner gets the first of its candidates that is free. */
export class Names {
  readonly #owners = new Map<string, unknown>();

  /** @param reserved names that are never assigned. */
  constructor(reserved: Iterable<string> = []) {
    for (const name of reserved) this.#owners.set(name, undefined);
  }

  /**
   * The name of the owner.
   *
   * @param candidates in order of preference; if all are taken, the last one gets a number.
   */
  of(owner: unknown, ...candidates: readonly [string, ...string[]]): string {
    const found = candidates.find((name) => this.#take(name, owner));
    if (found !== undefined) return found;
    const [last] = candidates.slice(-1);
    for (let number = 2; ; number += 1) {
      if (this.#take(`${last}_${number}`, owner)) return `${last}_${number}`;
    }
  }

  #take(name: string, owner: unknown): boolean {
    if (this.#owners.has(name)) return this.#owners.get(name) === owner;
    this.#owners.set(name, owner);
    return true;
  }
}
