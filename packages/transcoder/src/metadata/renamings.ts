/** What becomes of a name or, with a prefix, of all names that begin with it: another name or prefix. */
export interface Renaming {
  /** A name, or a prefix with a `*` at its end. */
  readonly from: string;
  /** A name or, for a prefix, a prefix with a `*` at its end. */
  readonly to: string;
}

/** The entries of a table of renamings. */
export class Renamings<Entry extends Renaming> {
  /** The entries for single names. */
  readonly byName = new Map<string, Entry>();
  /** The entries for prefixes, the longest first. Here, their `from` and `to` are without the `*`. */
  readonly prefixes: Entry[] = [];

  /** @throws Error with a one-sentence message if a prefix would become a single name, or the other way round. */
  constructor(entries: Iterable<Entry>) {
    for (const entry of entries) {
      const { from, to } = entry;
      if (isPrefix(from) && !isPrefix(to))
        throw new Error(`"${from}" stands for several names, and "${to}" for one; it must end in "*", too.`);
      if (!isPrefix(from) && isPrefix(to))
        throw new Error(`"${from}" stands for one name, and "${to}" for several; it must not end in "*".`);

      if (isPrefix(from)) this.prefixes.push({ ...entry, from: from.slice(0, -1), to: to.slice(0, -1) });
      else this.byName.set(from, entry);
    }
    this.prefixes.sort((prefix, other) => other.from.length - prefix.from.length);
  }

  /**
   * The entry of `prefixes` for the longest prefix with which a name begins, and behind which it goes on. Undefined if there
   * is none, or the name has an entry of its own.
   */
  prefixOf(name: string): Entry | undefined {
    if (this.prefixes.length === 0 || this.byName.has(name)) return undefined;
    return this.prefixes.find(({ from }) => name.startsWith(from) && name !== from);
  }
}

/** Whether a name in a renaming stands for all names that begin with it. */
export function isPrefix(name: string): boolean {
  return name.endsWith('*');
}

/** What a name becomes by the entry that `prefixOf` returns for it, whose `from` and `to` are without the `*`. */
export function newName(name: string, { from, to }: Renaming): string {
  return to + name.slice(from.length);
}
