import { shown } from './text.js';

/**
 * Refuses a name that would otherwise be ignored, and with it a value that was meant to count.
 *
 * @param what the name is, such as `option`
 * @throws RangeError that names the unknown name, and the known one that it resembles or else all
 */
export function requireKnown(what: string, given: object, known: readonly string[]): void {
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined || known.includes(name)) continue;
    const [near = ''] = known.toSorted((one, other) => unlike(one, name) - unlike(other, name));
    const help = unlike(near, name) > 2 ? `known are ${known.join(', ')}` : `the nearest is "${near}"`;
    throw new RangeError(`There is no ${what} ${shown(name)}; ${help}.`);
  }
}

/** How many letters only one of two names has. */
function unlike(one: string, other: string): number {
  const [some, others] = [one.toLowerCase(), other.toLowerCase()];
  return Array.from(some + others).filter((each) => !some.includes(each) || !others.includes(each)).length;
}
