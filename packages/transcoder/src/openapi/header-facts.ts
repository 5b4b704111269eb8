import type { HeaderFacts } from './description-options.js';

/** The facts about a header; empty if nothing is said about it. */
export interface NamedFacts extends HeaderFacts {
  /** The header's name as the facts write it. */
  readonly name?: string;
}

/** The facts about a header, whose name may be in another case there. */
export function factsOf(factsByName: Readonly<Record<string, HeaderFacts>>, header: string): NamedFacts {
  const found = Object.entries(factsByName).find(([name]) => name.toLowerCase() === header.toLowerCase());
  if (found === undefined) return {};
  const [name, facts] = found;
  return { ...facts, name };
}
