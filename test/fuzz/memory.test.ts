import { expect, it } from 'vitest';
import { memoryProblems } from '../../fuzz/memory.js';

function growing(mibEach: number): number[] {
  return Array.from({ length: 120 }, (_, index) => 100 + index * mibEach);
}

it.each([
  ['stays', 0],
  ['grows a little, as a heap does', 0.5],
])('memory that %s is flat', (_, mibEach) => {
  expect(memoryProblems(growing(mibEach))).toEqual([]);
});

it('memory that goes on growing is not flat', () => {
  expect(memoryProblems(growing(4))).toEqual([expect.stringMatching(/^Memory grew: 340 MiB .*, 500 MiB/)]);
});
