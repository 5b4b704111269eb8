/** What became of a rule. */
export interface Outcome {
  /** The proto package of its contract. */
  readonly contract: string;
  readonly service: string;
  /** `answered`, or else what and why. */
  readonly fate: string;
}

/** The reasons for which rules are left out, by the sentences of the transcoder. */
const REASONS: readonly (readonly [sentence: RegExp, reason: string])[] = [
  [/streams of requests/, 'left out: streams of requests'],
  [/has "\*\*" twice/, 'left out: the path has `**` twice'],
  [/(?:GET|HEAD) has a body/, 'left out: `GET` has a body'],
  [/which comes first\./, 'left out: the later of two for the same requests'],
];

/** How many packages, services and rules met each fate. */
export function outcomeTable(outcomes: readonly Outcome[]): string {
  const fates = new Map<string, Outcome[]>([
    ['all', [...outcomes]],
    ['loaded', outcomes.filter(({ fate }) => !fate.startsWith('refused'))],
  ]);
  const inOrder = outcomes.toSorted((one, other) => fateOf(one).localeCompare(fateOf(other)));
  for (const outcome of inOrder) {
    const members = fates.get(fateOf(outcome)) ?? [];
    fates.set(fateOf(outcome), members);
    members.push(outcome);
  }
  const rows = [...fates].map(([fate, members]) => {
    const packages = new Set(members.map(({ contract }) => contract));
    const services = new Set(members.map(({ service }) => service));
    return [
      fate,
      ...[packages.size, services.size, members.length].map((count) => count.toLocaleString('en')),
    ];
  });
  return table(['HTTP rules', 'packages', 'services', 'rules'], rows);
}

function fateOf({ fate }: Outcome): string {
  return REASONS.find(([sentence]) => sentence.test(fate))?.[1] ?? fate;
}

/** A table in Markdown, its first column of text and all others of numbers. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |\n`;
  return [line(head), `|---${'|---:'.repeat(head.length - 1)}|\n`, ...rows.map(line)].join('');
}
