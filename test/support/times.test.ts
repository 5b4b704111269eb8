import { expect, it } from 'vitest';
import { timesLine } from './times.js';

it('the end of a run says its wall and CPU time, with that of the processes that it has started', () => {
  const stat = '7 (a ) name) S 1 7 7 0 -1 4194304 900 800 0 0 1000 200 30000 400 20 0 11 0 500 900 100';
  expect(timesLine(129.6, stat)).toBe('The run took 130 s, and 316 s of CPU time.\n');
});

it('the end of a run says its wall time where the system does not tell the other', () => {
  expect(timesLine(61, undefined)).toBe('The run took 61 s.\n');
});
