import { performance } from 'node:perf_hooks';
import { expect, it } from 'vitest';
import { ArrivingPlaces } from '../../src/http/arriving-places.js';
import { PacedWork } from '../../src/http/paced-work.js';

/** Far away, in milliseconds since the epoch. */
const LATER = Date.now() + 3_600_000;

/** Enough for all pieces of a test. */
const places = (): ArrivingPlaces => new ArrivingPlaces(64);

/** Work that keeps the processor busy. */
function busyFor(ms: number): void {
  const end = performance.now() + ms;
  while (performance.now() < end);
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

it('work is done in its order, in a later turn, and gives what it returns or resolves to', async () => {
  const work = new PacedWork(Date.now, places());
  const done: number[] = [];
  const all = [1, 2, 3].map((each) =>
    work.run(LATER, () => {
      done.push(each);
      return each === 2 ? Promise.resolve(each) : each;
    }),
  );
  expect(done).toEqual([]);
  expect(await Promise.all(all)).toEqual([1, 2, 3]);
  expect(done).toEqual([1, 2, 3]);
  expect(await work.run(LATER, () => 4)).toBe(4);
});

it('work that takes long leaves the event loop to others after each piece', async () => {
  const work = new PacedWork(Date.now, places());
  let done = 0;
  const pieces = Array.from({ length: 4 }, () =>
    work.run(LATER, () => {
      busyFor(6);
      done += 1;
    }),
  );
  const seen: number[] = [];
  for (let i = 0; i < 4; i++) {
    await turn();
    seen.push(done);
  }
  expect(seen).toEqual([1, 2, 3, 4]);
  await Promise.all(pieces);
});

it('work whose turn has not come by its deadline is not begun', async () => {
  let now = 0;
  const work = new PacedWork(() => now, places());
  const first = work.run(10, () => {
    busyFor(6);
    now = 5;
  });
  let begun = false;
  const second = work.run(5, () => {
    begun = true;
  });
  await first;
  await expect(second).rejects.toMatchObject({ reason: 'DEADLINE_EXCEEDED' });
  expect(begun).toBe(false);
});

it('work that throws rejects its own promise only', async () => {
  const work = new PacedWork(Date.now, places());
  const thrown = work.run(LATER, () => {
    throw new Error('theirs');
  });
  const other = work.run(LATER, () => 1);
  await expect(thrown).rejects.toThrow('theirs');
  expect(await other).toBe(1);
});

it('work holds a place until its turn comes, whatever becomes of it', async () => {
  const one = new ArrivingPlaces(2);
  const work = new PacedWork(Date.now, one);
  const waiting = work.run(LATER, () => 1);
  await expect(work.run(LATER, () => 2)).rejects.toMatchObject({ reason: 'OVERLOADED' });
  expect(await waiting).toBe(1);
  await expect(work.run(0, () => 3)).rejects.toMatchObject({ reason: 'DEADLINE_EXCEEDED' });
  expect(await work.run(LATER, () => 4)).toBe(4);
});
