import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { sourceFiles } from '../../packages/transcoder/test/support/source-imports.js';
import { keysUnavailable } from '../../src/auth/remote-key-set.js';
import { asFailure, FAILURES } from '../../src/calls/failures.js';
import { storeUnavailable } from '../../src/store/driver-errors.js';

const ROOT = resolve(import.meta.dirname, '../..');
const SOURCES = ['src', 'packages/transcoder/src']
  .flatMap((folder) => sourceFiles(resolve(ROOT, folder)))
  .map((file) => readFileSync(file, 'utf8'));
/** A logger call that writes, or may write, a warning or an error, if its message is a string literal. */
const LOUD =
  /log(?:ger)?(?:\.(?<level>warn|error|fatal)|\.cause|\[level\])\([^;]*?(?<quote>['"`])(?<text>(?:(?!\k<quote>).)*)\k<quote>,?\s*\)/gi;

/** The messages of failures whose cause is logged as a warning or an error, by reason; undefined without a cause. */
const CAUSES: Readonly<Record<string, string | undefined>> = {
  KEYS_UNAVAILABLE: keysUnavailable(undefined).message,
  STORE_UNAVAILABLE: storeUnavailable(undefined).message,
  INTERNAL: asFailure(undefined).message,
  SHUTTING_DOWN: undefined,
};

/** The messages that the code logs as warnings and errors, with `…` for interpolated values, and the level if it is fixed. */
const LOGGED = SOURCES.flatMap((source) =>
  [...source.matchAll(LOUD)].map(({ groups }) => ({
    text: groups?.['text']?.replace(/\$\{[^}]*\}/g, '…') ?? '',
    level: groups?.['level'],
  })),
);

/** The first two cells of each row of the table under a heading: a message, and the cell beside it. */
function rowsUnder(heading: string): (readonly [message: string, beside: string])[] {
  const document = readFileSync(resolve(ROOT, 'docs/operations.md'), 'utf8');
  const section = document.split(`# ${heading}\n`)[1]?.split('\n#')[0] ?? '';
  const rows = section.matchAll(/^\| `([^`]+)`(?: and a list)? \| ([^|]*) \|/gm);
  return [...rows].map(([, message = '', beside = '']) => [message, beside]);
}

describe('the log lines in docs/operations.md', () => {
  const documented = new Map(rowsUnder('Log lines'));

  it('are exactly the warnings and errors of the code', () => {
    const causes = Object.values(CAUSES).filter((text) => text !== undefined);
    const texts = new Set([...LOGGED.map(({ text }) => text), ...causes]);
    expect([...documented.keys()].sort()).toEqual([...texts].sort());
  });

  it('have the levels that the code gives them', () => {
    const fixed = LOGGED.filter(({ level }) => level !== undefined);
    expect(fixed.length).toBeGreaterThan(10);
    expect(fixed).toEqual(fixed.map(({ text }) => ({ text, level: documented.get(text) })));
  });

  it('include the message of every failure whose cause is logged', () => {
    const loud = Object.entries(FAILURES).filter(
      ([, { code }]) => code === FAILURES.INTERNAL.code || code === FAILURES.STORE_UNAVAILABLE.code,
    );
    expect(loud.map(([reason]) => reason).sort()).toEqual(Object.keys(CAUSES).sort());
  });
});

it.each(rowsUnder('Failed starts'))('a failed start may print "%s"', (message) => {
  const constant = message.replace('The service cannot start: ', '').split(/: …|…|[A-Z]+(?:_[A-Z]+)+/);
  expect(constant.filter((part) => !SOURCES.some((source) => source.includes(part)))).toEqual([]);
});
