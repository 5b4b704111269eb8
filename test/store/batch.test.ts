import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { Signal } from '../../src/registry/route-store.js';
import { inBatches } from '../../src/store/batch.js';

/** A fake database that responds on demand and records its statements. */
function database(): {
  asked: number[][];
  answer: () => void;
  run: (entries: readonly number[]) => Promise<(number | Error)[]>;
} {
  const asked: number[][] = [];
  const answers: (() => void)[] = [];
  return {
    asked,
    answer: () => answers.shift()?.(),
    run: (entries) => {
      asked.push([...entries]);
      return new Promise((resolve) => {
        answers.push(() => {
          resolve(entries.map((entry) => (entry < 0 ? new Error('bad') : entry * 2)));
        });
      });
    },
  };
}

const EAGER = { maxConcurrent: 2, maxConcurrentWhenFull: 4 };
const PATIENT = { maxConcurrent: 1, maxConcurrentWhenFull: 4 };

/** Batches numbers, each of which is wanted until its signal is aborted. */
function loading(
  pace: Parameters<typeof inBatches>[0],
  run: (entries: readonly number[]) => Promise<readonly (number | Error)[]>,
): (entry: number, signal?: Signal) => Promise<number> {
  const load = inBatches(pace, (waiting: readonly { entry: number; signal: Signal | undefined }[]) =>
    run(waiting.map(({ entry }) => entry)),
  );
  return (entry, signal) => load({ entry, signal });
}

describe('calls to a busy database', () => {
  it('share a statement when they come together', async () => {
    const { asked, answer, run } = database();
    const load = loading(EAGER, run);
    const all = Promise.all([load(1), load(2), load(3)]);
    await setImmediate();
    expect(asked).toEqual([[1, 2, 3]]);
    answer();
    await expect(all).resolves.toEqual([2, 4, 6]);
  });

  it('are sent alone one by one, and share the next statement when two statements run', async () => {
    const { asked, answer, run } = database();
    const load = loading(EAGER, run);
    for (const entry of [1, 2, 3, 4, 5]) {
      void load(entry);
      await setImmediate();
    }
    expect(asked).toEqual([[1], [2]]);
    answer();
    await setImmediate();
    expect(asked).toEqual([[1], [2], [3, 4, 5]]);
  });

  it('that may have one statement at a time, wait until the running statement ends or they fill another one', async () => {
    const { asked, answer, run } = database();
    const load = loading(PATIENT, run);
    for (const entry of [1, 2, 3]) {
      void load(entry);
      await setImmediate();
    }
    expect(asked).toEqual([[1]]);
    for (let entry = 4; entry <= 66; entry++) void load(entry);
    await setImmediate();
    expect(asked.map(({ length }) => length)).toEqual([1, 64]);
    answer();
    await setImmediate();
    expect(asked.map(({ length }) => length)).toEqual([1, 64]);
    answer();
    await setImmediate();
    expect(asked.map(({ length }) => length)).toEqual([1, 64, 1]);
  });

  it('fill at most four statements at once', async () => {
    const { asked, answer, run } = database();
    const load = loading(PATIENT, run);
    for (let entry = 0; entry < 6 * 64; entry++) void load(entry);
    await setImmediate();
    expect(asked.map(({ length }) => length)).toEqual([64, 64, 64, 64]);
    answer();
    await setImmediate();
    expect(asked.map(({ length }) => length)).toEqual([64, 64, 64, 64, 64]);
  });

  it('do not delay others once they are no longer wanted', async () => {
    const { asked, run } = database();
    const load = loading(PATIENT, run);
    const unwanted = Array.from({ length: 5 * 64 }, (_, entry) => load(entry, AbortSignal.abort()));
    void load(1_000);
    const ended = unwanted.map((call) =>
      expect(call).rejects.toThrow('The call ended before its statement was sent.'),
    );
    await Promise.all(ended);
    await setImmediate();
    expect(asked).toEqual([[1_000]]);
  });

  it('are left out of a statement when they are no longer wanted', async () => {
    const { asked, answer, run } = database();
    const load = loading(PATIENT, run);
    const caller = new AbortController();
    const first = load(1);
    await setImmediate();
    const rest = Promise.allSettled([load(2), load(3, caller.signal), load(4)]);
    await setImmediate();
    caller.abort();
    answer();
    await first;
    await setImmediate();
    answer();
    expect(asked).toEqual([[1], [2, 4]]);
    expect(await rest).toMatchObject([
      { value: 4 },
      { reason: { name: 'CancelledBeforeSend' } },
      { value: 8 },
    ]);
  });

  it('fail individually', async () => {
    const { answer, run } = database();
    const load = loading(EAGER, run);
    const settled = Promise.allSettled([load(1), load(-1), load(3)]);
    await setImmediate();
    answer();
    expect((await settled).map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  });

  it('fail together when the database fails, and later ones succeed', async () => {
    let away = true;
    const load = loading(EAGER, (entries: readonly number[]) =>
      away ? Promise.reject(new Error('away')) : Promise.resolve(entries),
    );
    const settled = await Promise.allSettled([load(1), load(2)]);
    expect(settled.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    away = false;
    await expect(Promise.all([load(1), load(2), load(3)])).resolves.toEqual([1, 2, 3]);
  });
});
