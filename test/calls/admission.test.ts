import { describe, expect, it } from 'vitest';
import { Admission, type AdmissionLimits } from '../../src/calls/admission.js';

const LIMITS: AdmissionLimits = { maxCalls: 2, maxWaitingCalls: 4 };

/** A call whose message has arrived. */
const WHOLE = { message: new Uint8Array() };

function admission(limits: Partial<AdmissionLimits> = {}): Admission {
  return new Admission({ ...LIMITS, ...limits });
}

/** Work that is done when it is told to be. */
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

describe('calls under way', () => {
  it('are refused beyond their number, until one of them ends', () => {
    const calls = admission();
    calls.enter(WHOLE);
    calls.enter(WHOLE);
    expect(() => {
      calls.enter(WHOLE);
    }).toThrow(overloaded(/2 calls under way/));
    calls.leave();
    calls.enter(WHOLE);
  });
});

describe('calls whose messages are still arriving', () => {
  it('take no places of others when they need no token, and have an eighth as many for themselves', () => {
    const calls = admission({ maxCalls: 16 });
    const arriving = { message: new Promise<Uint8Array>(() => undefined) };
    for (let i = 0; i < 2; i++) calls.enterOpen(arriving);
    expect(() => {
      calls.enterOpen(arriving);
    }).toThrow(overloaded(/2 requests that are still arriving/));
    calls.enterOpen(WHOLE);
    for (let i = 0; i < 8; i++) calls.enter(arriving);
    for (let i = 0; i < 8; i++) calls.enter(WHOLE);
  });

  it('hold half of the places, and leave the others to calls that arrive whole', () => {
    const calls = admission({ maxCalls: 5 });
    const arriving = { message: new Promise<Uint8Array>(() => undefined) };
    calls.enter(arriving);
    calls.enter(arriving);
    expect(() => {
      calls.enter(arriving);
    }).toThrow(overloaded(/2 requests that are still arriving/));
    for (let i = 0; i < 3; i++) calls.enter(WHOLE);
    expect(() => {
      calls.enter(WHOLE);
    }).toThrow(overloaded(/5 calls under way/));
  });

  it.each([
    ['arrives', () => Promise.resolve(WHOLE.message)],
    ['fails', () => Promise.reject(new Error('failed'))],
  ])('hold one place at least, and give it back when the message %s', async (_, arrive) => {
    const message: Promise<Uint8Array> = arrive();
    const calls = admission({ maxCalls: 1 });
    calls.enter({ message });
    calls.leave();
    expect(() => {
      calls.enter({ message });
    }).toThrow(overloaded(/1 requests that are still arriving/));
    await Promise.allSettled([message]);
    calls.enter({ message });
  });
});

describe('calls that wait', () => {
  it('are refused beyond their number, before their work begins', async () => {
    const places = admission();
    const waiting = ['a', 'a', 'b', 'b'].map((caller) => ({ caller, ...work() }));
    const done = waiting.map(({ caller, run }) => places.wait(caller, run));
    const late = work();
    await expect(places.wait('c', late.run)).rejects.toThrow(overloaded(/4 calls waiting/));
    expect(late.begun()).toBe(false);
    for (const { finish } of waiting) finish();
    await expect(Promise.all(done)).resolves.toHaveLength(4);
  });

  it('of one caller have half of the places, and leave the others to other callers', async () => {
    const places = admission();
    const mine = [work(), work()];
    const done = mine.map(({ run }) => places.wait('me', run));
    await expect(places.wait('me', work().run)).rejects.toThrow(overloaded(/The caller has 2 calls waiting/));
    const other = work();
    const others = places.wait('you', other.run);
    other.finish();
    await expect(others).resolves.toBe('done');
    for (const { finish } of mine) finish();
    await Promise.all(done);
  });

  it.each([
    [
      'done',
      (one: ReturnType<typeof work>) => {
        one.finish();
      },
    ],
    [
      'failed',
      (one: ReturnType<typeof work>) => {
        one.fail();
      },
    ],
  ])('give their place back when their work has %s', async (_, settle) => {
    const places = admission({ maxWaitingCalls: 2 });
    for (let i = 0; i < 3; i++) {
      const one = work();
      const settled = Promise.allSettled([places.wait('me', one.run)]);
      settle(one);
      await settled;
    }
    const last = work();
    const waits = places.wait('me', last.run);
    last.finish();
    await expect(waits).resolves.toBe('done');
  });
});
