import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { peerChart } from './chart.js';
import { conditions, rawTables } from './data.js';
import { pageParts } from './page.js';
import type { Run } from './run.js';

/**
 * Writes the results of a run into the folder of documents: the generated parts of `performance.md` between their markers,
 * its chart `performance.svg`, and all figures as `performance-data.md`.
 *
 * @throws Error when the page lacks the markers of a part
 */
export async function writeDocuments(folder: string, run: Run): Promise<void> {
  const page = join(folder, 'performance.md');
  const parts = Object.entries(pageParts(run));
  const text = parts.reduce(
    (before, [name, part]) => replacePart(before, name, part),
    await readFile(page, 'utf8'),
  );
  await writeFile(page, text);
  await writeFile(join(folder, 'performance.svg'), peerChart(run));
  await writeFile(join(folder, 'performance-data.md'), dataFile(run));
}

/**
 * Replaces the content between the two markers of a part.
 *
 * @throws Error when the text lacks them
 */
function replacePart(text: string, name: string, part: string): string {
  const [begin, end] = [`<!-- npm run bench -- --write: ${name} -->`, `<!-- end: ${name} -->`];
  const [before, ...rest] = text.split(begin);
  const [, after] = rest.join(begin).split(end);
  if (before === undefined || after === undefined) throw new Error(`The page has no part "${name}".`);
  return `${before}${begin}\n\n${part}\n\n${end}${after}`;
}

function dataFile(run: Run): string {
  return [
    '# Performance: all figures',
    'Written by `npm run bench -- --write`, not by hand. [`performance.md`](performance.md) shows what matters.',
    conditions(run),
    rawTables(run),
    '',
  ]
    .join('\n\n')
    .trimEnd()
    .concat('\n');
}
