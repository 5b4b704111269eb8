import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { sourceFiles } from '../../packages/transcoder/test/support/source-imports.js';
import { keysUnavailable } from '../../src/auth/remote-key-set.js';
import { asFailure, FAILURES } from '../../src/calls/failures.js';
import { storeUnavailable } from '../../src/store/driver-errors.js';

const ROOT = resolve(import.meta.dirname, '../..');
const SOURCES = ['src', 'packages/transcoder/src'];
/** A logger call that writes, or may write, a warning or an error, if its message is a string literal. */
const LOUD =
  /log(?:ger)?(?:\.(?:warn|error|fatal|cause)|\[level\])\([^;]*?(?<quote>['"`])(?<text>(?:(?!\k<quote>).)*)\k<quote>,?\s*\)/gi;

/** The messages of failures whose cause is logged as a warning or an error, by reason; undefined without a cause. */
const CAUSES: Readonly<Record<string, string | undefined>> = {
  KEYS_UNAVAILABLE: keysUnavailable(undefined).message,
  STORE_UNAVAILABLE: storeUnavailable(undefined).message,
  INTERNAL: asFailure(undefined).message,
  SHUTTING_DOWN: undefined,
};

/** The messages that the code logs as warnings and errors, with `…` for interpolated values. */
function loggedIn(file: string): string[] {
  const source = readFileSync(file, 'utf8');
  return [...source.matchAll(LOUD)].map(({ groups }) => groups?.['text']?.replace(/\$\{[^}]*\}/g, '…') ?? '');
}

/** The messages in the first column of the table under a heading. */
function documented(heading: string): string[] {
  const document = readFileSync(resolve(ROOT, 'docs/operations.md'), 'utf8');
  const section = document.split(`\n## ${heading}\n`)[1]?.split('\n#')[0] ?? '';
  return [...section.matchAll(/^\| `([^`]+)` \|/gm)].map(([, message = '']) => message);
}

describe('the log lines in docs/operations.md', () => {
  const files = SOURCES.flatMap((folder) => sourceFiles(resolve(ROOT, folder)));
  const causes = Object.values(CAUSES).filter((text) => text !== undefined);
  const logged = [...files.flatMap(loggedIn), ...causes];

  it('are exactly the warnings and errors of the code', () => {
    expect(documented('Log lines').sort()).toEqual([...new Set(logged)].sort());
  });

  it('include the message of every failure whose cause is logged', () => {
    const loud = Object.entries(FAILURES).filter(
      ([, { code }]) => code === FAILURES.INTERNAL.code || code === FAILURES.STORE_UNAVAILABLE.code,
    );
    expect(loud.map(([reason]) => reason).sort()).toEqual(Object.keys(CAUSES).sort());
  });
});
