import { status } from '@grpc/grpc-js';
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { TimeSlices } from '../../../src/command/reflection/time-slices.js';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date', 'performance'] });
  onTestFinished(() => void vi.useRealTimers());
});

/** Whether the process did other work meanwhile. */
async function isPause(work: TimeSlices): Promise<boolean> {
  let other = false;
  const turn = setImmediate(() => (other = true));
  await work.pause();
  clearImmediate(turn);
  return other;
}

/** Numbers without end, each of which takes a millisecond. */
function* numbers(): Generator<number> {
  for (let number = 0; ; number += 1) {
    vi.advanceTimersByTime(1);
    yield number;
  }
}

describe('long work', () => {
  it('lets other work of the process wait for 10 ms at most', async () => {
    const work = new TimeSlices(Infinity);
    expect(await isPause(work)).toBe(true);
    vi.advanceTimersByTime(9);
    expect(await isPause(work)).toBe(false);
    vi.advanceTimersByTime(1);
    expect(await isPause(work)).toBe(true);
  });

  it('ends at its deadline', async () => {
    const work = new TimeSlices(Date.now() + 10);
    await work.pause();
    vi.advanceTimersByTime(10);
    await expect(work.pause()).rejects.toMatchObject({ code: status.DEADLINE_EXCEEDED });
  });

  it('ends at its deadline while it is divided into slices', async () => {
    const sizes: number[] = [];
    const divide = async (): Promise<void> => {
      for await (const slice of new TimeSlices(Date.now() + 2_500).of(numbers())) sizes.push(slice.length);
    };
    await expect(divide()).rejects.toMatchObject({ code: status.DEADLINE_EXCEEDED });
    expect(sizes).toEqual([1_000, 1_000, 1_000]);
  });
});
