import { describe, expect, it } from 'vitest';
import { heapProblems, residentProblems } from '../../fuzz/memory.js';

function growing(mibEach: number): number[] {
  return Array.from({ length: 120 }, (_, index) => 100 + index * mibEach);
}

describe.each([
  ['resident memory', residentProblems, 0.5, /^Resident memory grew: 338 MiB .*, 498 MiB/],
  ['the heap', heapProblems, 0.25, /^The heap grew: 338 MiB .*, 498 MiB/],
])('the check of %s', (_, problems, little, message) => {
  it.each([
    ['stays constant', 0],
    ['grows a little', little],
  ])('passes when the memory %s', (__, mibEach) => {
    expect(problems(growing(mibEach))).toEqual([]);
  });

  it('fails when the memory keeps growing', () => {
    expect(problems(growing(4))).toEqual([expect.stringMatching(message)]);
  });
});

it('the check of the heap fails when the heap keeps half a kilobyte of each of 100,000 cases', () => {
  const keptMib = (100_000 * 512) / 2 ** 20;
  const mib = Array.from({ length: 60 }, (_, index) => 35 + (keptMib * index) / 60);
  expect(heapProblems(mib)).toHaveLength(1);
});
