import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

it('ARCHITECTURE.md shows the current output of npm run call-path', () => {
  const [, shown] =
    /`npm run --silent call-path` prints them:\n\n```\n([^`]*)```/.exec(
      readFileSync('ARCHITECTURE.md', 'utf8'),
    ) ?? [];
  expect(execFileSync('npm', ['run', '--silent', 'call-path'], { encoding: 'utf8' })).toBe(shown);
});
