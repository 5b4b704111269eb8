import { expect, it } from 'vitest';
import { heapProblems, residentProblems } from '../../fuzz/memory.js';

it.each([
  ['resident memory', residentProblems, 0.5, /^Resident memory grew: 338 MiB .*, 498 MiB/],
  ['the heap', heapProblems, 0.25, /^The heap grew: 338 MiB .*, 498 MiB/],
])('the check of %s fails only when it keeps growing', (_, problems, littleMib, message) => {
  const growing = (mibEach: number): number[] => Array.from({ length: 120 }, (__, i) => 100 + i * mibEach);
  expect([problems(growing(0)), problems(growing(littleMib))]).toEqual([[], []]);
  expect(problems(growing(4))).toEqual([expect.stringMatching(message)]);
});
