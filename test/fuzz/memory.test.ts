import { describe, expect, it } from 'vitest';
import { heapProblems, residentProblems } from '../../fuzz/memory.js';

function growing(mibEach: number): number[] {
  return Array.from({ length: 120 }, (_, index) => 100 + index * mibEach);
}

describe.each([
  ['resident memory', residentProblems, 0.5, /^Resident memory grew: 338 MiB .*, 498 MiB/],
  ['the heap', heapProblems, 0.25, /^The heap grew: 338 MiB .*, 498 MiB/],
])('%s', (_, problems, little, message) => {
  it.each([
    ['stays', 0],
    ['grows a little', little],
  ])('is flat when it %s', (__, mibEach) => {
    expect(problems(growing(mibEach))).toEqual([]);
  });

  it('is not flat when it goes on growing', () => {
    expect(problems(growing(4))).toEqual([expect.stringMatching(message)]);
  });
});

it('the heap is not flat when it keeps half a kilobyte of each of 100,000 cases', () => {
  const keptMib = (100_000 * 512) / 2 ** 20;
  const mib = Array.from({ length: 60 }, (_, index) => 35 + (keptMib * index) / 60);
  expect(heapProblems(mib)).toHaveLength(1);
});
