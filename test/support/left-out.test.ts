import { expect, it } from 'vitest';
import { lastLine } from './left-out.js';

it('the last line counts skipped tests, and says what is missing and how to get it', () => {
  const leftOut = new Map([
    ['server', { count: 806, why: 'there is no Docker. To have it, set TEST_MYSQL_URL.' }],
    ['chromium', { count: 2, why: 'there is no chromium. To have it, put it on the PATH.' }],
  ] as const);
  expect(lastLine(['SQLite'], leftOut, 0)).toBe(
    'The run was on SQLite. SKIPPED: 806 tests without server: there is no Docker. To have it, set ' +
      'TEST_MYSQL_URL. SKIPPED: 2 tests without chromium: there is no chromium. To have it, put it on the PATH.\n',
  );
});

it('the last line counts tests that did not run', () => {
  expect(lastLine(['SQLite'], new Map(), 123)).toBe(
    'The run was on SQLite. NOT RUN: 123 tests excluded by -t or stopped by a failure above.\n',
  );
});
