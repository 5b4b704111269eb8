import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';

const ROOT = resolve(import.meta.dirname, '../..');

/** A row of a document that says what keeps a promise and which tests break it. */
interface Promised {
  readonly promise: string;
  /** Settings and source files. */
  readonly keepers: readonly string[];
  /** Titles, or parts of them, by the test file as the document names it; '' for a row that names no file. */
  readonly tests: readonly { readonly file: string; readonly titles: readonly string[] }[];
}

/** The rows of three cells of which the last one quotes titles of tests. */
export function promisesIn(document: string): Promised[] {
  const text = readFileSync(resolve(ROOT, document), 'utf8');
  return [...text.matchAll(/^\| ([^|]*) \| ([^|]*) \| (.*".*) \|$/gm)].map(
    ([, promise = '', keepers = '', breakers = '']) => ({
      promise,
      keepers: [...keepers.matchAll(/`([A-Z_]{4,}|src\/[a-z/.-]+\.ts)`/g)].map(([, name = '']) => name),
      tests: testsIn(breakers),
    }),
  );
}

function testsIn(breakers: string): Promised['tests'] {
  const tests: { file: string; titles: string[] }[] = [];
  for (const [, file, title] of breakers.matchAll(/`([^`]*\.test\.ts)`|"([^"]*)"/g)) {
    if (file !== undefined) tests.push({ file, titles: [] });
    else if (tests.length === 0) tests.push({ file: '', titles: [title ?? ''] });
    else tests.at(-1)?.titles.push(title ?? '');
  }
  return tests;
}
