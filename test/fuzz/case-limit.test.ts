import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { CASE_LIMIT_MS, outcomeOf } from '../../fuzz/case-limit.js';
import type { Outcome } from '../../fuzz/world.js';

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

function caseOf(send: (signal: AbortSignal) => Promise<Outcome>): Parameters<typeof outcomeOf>[0] {
  return { shown: () => '', send };
}

describe('a case', () => {
  it('that ends in time has its own outcome, and leaves no timer', async () => {
    const outcome = { answers: ['OK'], problems: [] };
    expect(await outcomeOf(caseOf(() => Promise.resolve(outcome)))).toBe(outcome);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('that does not end is told to, and has failed', async () => {
    let told: AbortSignal | undefined;
    const ending = outcomeOf(
      caseOf((signal) => {
        told = signal;
        return new Promise(() => undefined);
      }),
    );
    await vi.advanceTimersByTimeAsync(CASE_LIMIT_MS - 1);
    expect(told?.aborted).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect(told?.aborted).toBe(true);
    expect(await ending).toEqual({ answers: [], problems: ['It did not end within 30 s.'] });
  });

  it('whose answer cannot be read has failed', async () => {
    const { problems } = await outcomeOf(caseOf(() => Promise.reject(new Error('cut'))));
    expect(problems).toEqual([expect.stringMatching(/^The answer could not be read: Error: cut\n/)]);
    expect(vi.getTimerCount()).toBe(0);
  });
});
