import { expect, it } from 'vitest';
import { lastLine } from './left-out.js';

it('the last line of a whole run names its engines', () => {
  expect(lastLine(['SQLite', 'MariaDB 10.11.19'], new Map(), 0)).toBe(
    'The run was on SQLite and MariaDB 10.11.19. No test was left out.\n',
  );
});

it('the last line of a run that left tests out counts them, and says why and how to have them', () => {
  const leftOut = new Map([
    ['server', { count: 806, why: 'there is no Docker. To have it, set TEST_MYSQL_URL.' }],
    ['chromium', { count: 2, why: 'there is no chromium. To have it, put it on the PATH.' }],
  ] as const);
  expect(lastLine(['SQLite'], leftOut, 0)).toBe(
    'The run was on SQLite. LEFT OUT: 806 tests for want of server: there is no Docker. To have it, set ' +
      'TEST_MYSQL_URL. LEFT OUT: 2 tests for want of chromium: there is no chromium. To have it, put it on the PATH.\n',
  );
});

it('the last line of a run with tests that never ran counts those, too', () => {
  expect(lastLine(['SQLite'], new Map(), 123)).toBe(
    'The run was on SQLite. NOT RUN: 123 tests that -t excludes, or that a failure above has stopped.\n',
  );
});
