import { performance } from 'node:perf_hooks';
import { expect, it, onTestFinished, vi } from 'vitest';
import { LockedRows } from '../../src/store/locked-rows.js';

it('a caller whose rows have waited is forgotten ten seconds after the last wait, even if rows are stored since', () => {
  let now = performance.now();
  vi.spyOn(performance, 'now').mockImplementation(() => now);
  onTestFinished(() => void vi.restoreAllMocks());
  const rows = new LockedRows();
  const rowOf = (shape: string) => ({ caller: 'me', shape, texts: [shape] });
  rows.noteWait(rowOf('GET /a'));
  rows.noteWait(rowOf('GET /b'));
  now += 9_000;
  rows.noteStored(rowOf('GET /c'));
  expect(rows.isLikelyToWait(rowOf('GET /d'))).toBe(true);
  now += 1_001;
  expect(rows.isLikelyToWait(rowOf('GET /d'))).toBe(false);
});
