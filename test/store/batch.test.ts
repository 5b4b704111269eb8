import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { Signal } from '../../src/registry/route-store.js';
import { batched } from '../../src/store/batch.js';

/** A database that answers when told to, and records what it was asked. */
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

/** Numbers as entries, each wanted until its signal says otherwise. */
function loading(
  manner: 'at once' | 'when full',
  run: (entries: readonly number[]) => Promise<readonly (number | Error)[]>,
): (entry: number, signal?: Signal) => Promise<number> {
  const load = batched(manner, (waiting: readonly { entry: number; signal: Signal | undefined }[]) =>
    run(waiting.map(({ entry }) => entry)),
  );
  return (entry, signal) => load({ entry, signal });
}

describe('calls to a busy database', () => {
  it('go out alone when they come alone', async () => {
    const { asked, answer, run } = database();
    const load = loading('at once', run);
    const one = load(1);
    await setImmediate();
    const two = load(2);
    await setImmediate();
    expect(asked).toEqual([[1], [2]]);
    answer();
    answer();
    await expect(Promise.all([one, two])).resolves.toEqual([2, 4]);
  });

  it('that come together go out together', async () => {
    const { asked, answer, run } = database();
    const load = loading('at once', run);
    const all = Promise.all([load(1), load(2), load(3)]);
    await setImmediate();
    expect(asked).toEqual([[1, 2, 3]]);
    answer();
    await expect(all).resolves.toEqual([2, 4, 6]);
  });

  it('that come while two are under way go out together when one of them is answered', async () => {
    const { asked, answer, run } = database();
    const load = loading('at once', run);
    for (const entry of [1, 2, 3, 4, 5]) {
      void load(entry);
      await setImmediate();
    }
    expect(asked).toEqual([[1], [2]]);
    answer();
    await setImmediate();
    expect(asked).toEqual([[1], [2], [3, 4, 5]]);
  });

  it('wait beside one that is under way until they fill a statement, where that is asked for', async () => {
    const { asked, answer, run } = database();
    const load = loading('when full', run);
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

  it('fill up to four statements at once, and no more', async () => {
    const { asked, answer, run } = database();
    const load = loading('when full', run);
    for (let entry = 0; entry < 6 * 64; entry++) void load(entry);
    await setImmediate();
    expect(asked.map(({ length }) => length)).toEqual([64, 64, 64, 64]);
    answer();
    await setImmediate();
    expect(asked.map(({ length }) => length)).toEqual([64, 64, 64, 64, 64]);
  });

  it('keep no others waiting when nobody waits for them any more', async () => {
    const { asked, run } = database();
    const load = loading('when full', run);
    for (let entry = 0; entry < 5 * 64; entry++) load(entry, AbortSignal.abort()).catch(() => undefined);
    void load(1_000);
    await setImmediate();
    await setImmediate();
    expect(asked).toEqual([[1_000]]);
  });

  it('are 64 at most in one', async () => {
    const { asked, run } = database();
    const load = loading('at once', run);
    for (let entry = 0; entry < 65; entry++) void load(entry);
    await setImmediate();
    expect(asked.map(({ length }) => length)).toEqual([64, 1]);
  });

  it('are left out when nobody waits for them any more', async () => {
    const { asked, answer, run } = database();
    const load = loading('when full', run);
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
    expect(await rest).toMatchObject([{ value: 4 }, { reason: { name: 'NotSent' } }, { value: 8 }]);
  });

  it('cost no statement when nobody waits for any of them', async () => {
    const { asked, run } = database();
    const load = loading('at once', run);
    await expect(load(1, AbortSignal.abort())).rejects.toThrow(
      'The call ended before its statement was sent.',
    );
    void load(2);
    await setImmediate();
    expect(asked).toEqual([[2]]);
  });

  it('fail each by itself', async () => {
    const { answer, run } = database();
    const load = loading('at once', run);
    const settled = Promise.allSettled([load(1), load(-1), load(3)]);
    await setImmediate();
    answer();
    expect((await settled).map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  });

  it('fail together when the database does, and later ones go on', async () => {
    let away = true;
    const load = loading('at once', (entries: readonly number[]) =>
      away ? Promise.reject(new Error('away')) : Promise.resolve(entries),
    );
    const settled = await Promise.allSettled([load(1), load(2)]);
    expect(settled.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    away = false;
    await expect(Promise.all([load(1), load(2), load(3)])).resolves.toEqual([1, 2, 3]);
  });
});
