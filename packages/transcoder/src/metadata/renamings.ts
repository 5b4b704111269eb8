/** What becomes of a name or, with a prefix, of all names that begin with it: another name or prefix. */
export interface Renaming {
  /** A name, or a prefix with its `*`; `Renamings` keeps prefixes without. */
  readonly from: string;
  readonly to: string;
}

/** The entries for single names, by name, and those for prefixes, without their `*`, the longest first. */
export class Renamings<Entry extends Renaming> {
  readonly single = new Map<string, Entry>();
  readonly prefixes: Entry[] = [];

  /** @throws Error with a one-sentence message if a prefix would become a single name. */
  constructor(entries: Iterable<Entry>) {
    for (const entry of entries) {
      const { from, to } = entry;
      if (!isPrefix(from)) {
        this.single.set(from, entry);
        continue;
      }
      if (!isPrefix(to))
        throw new Error(`"${from}" stands for several names, and "${to}" for one; it must end in "*", too.`);
      this.prefixes.push({ ...entry, from: from.slice(0, -1), to: to.slice(0, -1) });
    }

    this.prefixes.sort((prefix, other) => other.from.length - prefix.from.length);
  }

  /**
   * The entry for the longest prefix of a name, which has something behind the prefix; undefined if there is none, or the
   * name has an entry of its own.
   */
  prefixOf(name: string): Entry | undefined {
    if (this.prefixes.length === 0 || this.single.has(name)) return undefined;
    return this.prefixes.find(({ from }) => name.startsWith(from) && name !== from);
  }
}

export function isPrefix(name: string): boolean {
  return name.endsWith('*');
}

/** What a name that begins with a prefix becomes. */
export function newName(name: string, { from, to }: Renaming): string {
  return to + name.slice(from.length);
}
