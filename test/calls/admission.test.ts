import { describe, expect, it } from 'vitest';
import { Admission } from '../../src/calls/pipeline.js';

const LIMITS = { maxCalls: 2, maxWaitingCalls: 4 };

function admission(limits: Partial<typeof LIMITS> = {}): Admission {
  return new Admission({ ...LIMITS, ...limits });
}

/** Work that settles when the test tells it to. */
function work(): { run: () => Promise<string>; finish: () => void; fail: () => void; begun: () => boolean } {
  let settle: { resolve: (value: string) => void; reject: (error: Error) => void } | undefined;
  return {
    run: () =>
      new Promise((resolve, reject) => {
        settle = { resolve, reject };
      }),
    finish: () => settle?.resolve('done'),
    fail: () => settle?.reject(new Error('failed')),
    begun: () => settle !== undefined,
  };
}

const overloaded = (text: RegExp) =>
  expect.objectContaining({ reason: 'OVERLOADED', message: expect.stringMatching(text) as string }) as Error;

describe('the limit on waiting calls', () => {
  it('refuses further calls before their work begins', async () => {
    const places = admission();
    const waiting = ['a', 'a', 'b', 'b'].map((caller) => ({ caller, ...work() }));
    const done = waiting.map(({ caller, run }) => places.waiting.run(caller, run));
    const late = work();
    await expect(places.waiting.run('c', late.run)).rejects.toThrow(overloaded(/4 calls waiting/));
    expect(late.begun()).toBe(false);
    for (const { finish } of waiting) finish();
    await expect(Promise.all(done)).resolves.toHaveLength(4);
  });

  it('gives one caller at most half of the places and leaves the rest to others', async () => {
    const places = admission();
    const mine = [work(), work()];
    const done = mine.map(({ run }) => places.waiting.run('me', run));
    await expect(places.waiting.run('me', work().run)).rejects.toThrow(
      overloaded(/The caller has 2 calls waiting/),
    );
    const other = work();
    const others = places.waiting.run('you', other.run);
    other.finish();
    await expect(others).resolves.toBe('done');
    for (const { finish } of mine) finish();
    await Promise.all(done);
  });

  it.each([
    ['succeeded', 'finish'],
    ['failed', 'fail'],
  ] as const)('frees a place when its work has %s', async (_, settle) => {
    const places = admission({ maxWaitingCalls: 2 });
    for (let i = 0; i < 3; i++) {
      const one = work();
      const settled = Promise.allSettled([places.waiting.run('me', one.run)]);
      one[settle]();
      await settled;
    }
    const last = work();
    const waits = places.waiting.run('me', last.run);
    last.finish();
    await expect(waits).resolves.toBe('done');
  });
});
