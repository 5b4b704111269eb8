/** Assigns unique names: each owner gets the first of its candidates that is free. */
export class Names {
  readonly #taken: Set<string>;
  readonly #names = new Map<unknown, string>();
  /** The next number for each name that has had numbers. */
  readonly #numbers = new Map<string, number>();

  /** @param reserved names that are never assigned. */
  constructor(reserved: Iterable<string> = []) {
    this.#taken = new Set(reserved);
  }

  /**
   * The name of the owner.
   *
   * @param candidates in order of preference; if all are taken, the last candidate gets a number.
   */
  of(owner: unknown, ...candidates: readonly [string, ...string[]]): string {
    const known = this.#names.get(owner);
    if (known !== undefined) return known;
    const [last] = candidates.slice(-1);
    const name =
      candidates.find((candidate) => !this.#taken.has(candidate)) ?? this.#withNumber(String(last));
    this.#taken.add(name);
    this.#names.set(owner, name);
    return name;
  }

  #withNumber(name: string): string {
    let number = this.#numbers.get(name) ?? 2;
    while (this.#taken.has(`${name}_${number}`)) number += 1;
    this.#numbers.set(name, number + 1);
    return `${name}_${number}`;
  }
}
