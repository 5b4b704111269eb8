import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { sourceFiles } from '../../packages/transcoder/test/support/source-imports.js';
import { keysUnavailable } from '../../src/auth/remote-key-set.js';
import { CODES, toCallFailure } from '../../src/calls/failures.js';
import { storeUnavailable } from '../../src/store/driver-errors.js';

const ROOT = resolve(import.meta.dirname, '../..');
const SOURCES = ['src', 'packages/transcoder/src'];
/** A call of a logger that writes, or may write, a warning or an error, up to its message if that is a text. */
const LOUD =
  /log(?:ger)?(?:\.(?:warn|error|fatal|cause)|\[level\])\([^;]*?(?<quote>['"`])(?<text>(?:(?!\k<quote>).)*)\k<quote>,?\s*\)/gi;

/** The texts of failures whose cause is logged as a warning or an error, by their reason; none for those without one. */
const CAUSES: Readonly<Record<string, string | undefined>> = {
  KEYS_UNAVAILABLE: keysUnavailable(undefined).message,
  STORE_UNAVAILABLE: storeUnavailable(undefined).message,
  INTERNAL: toCallFailure(undefined).message,
  SHUTTING_DOWN: undefined,
};

/** The messages that the code logs as warnings and errors, with `…` for what varies. */
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

  it('are every warning and error of the code, and no other', () => {
    expect(documented('Log lines').sort()).toEqual([...new Set(logged)].sort());
  });

  it('about causes cover every reason that is logged so', () => {
    const loud = Object.entries(CODES).filter(
      ([, code]) => code === CODES.INTERNAL || code === CODES.STORE_UNAVAILABLE,
    );
    expect(loud.map(([reason]) => reason).sort()).toEqual(Object.keys(CAUSES).sort());
  });
});
