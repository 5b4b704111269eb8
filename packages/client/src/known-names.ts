/**
 * Refuses a name that would otherwise be ignored, and with it a value that was meant to count.
 *
 * @param what the name is, such as `option`
 * @throws RangeError that names the unknown name and the known one most like it
 */
export function requireKnown(what: string, given: object, known: readonly string[]): void {
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined || known.includes(name)) continue;
    const [nearest] = known.toSorted((one, other) => unlike(one, name) - unlike(other, name));
    throw new RangeError(`There is no ${what} "${name}"; the nearest is "${nearest}".`);
  }
}

/** How many letters only one of two names has. */
function unlike(one: string, other: string): number {
  const [some, others] = [one.toLowerCase(), other.toLowerCase()];
  return Array.from(some + others).filter((each) => !some.includes(each) || !others.includes(each)).length;
}
