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

describe('outcomeOf', () => {
  it('returns the outcome of a case that ends in time, and clears the timer', async () => {
    const outcome = { answers: ['OK'], problems: [] };
    expect(await outcomeOf(caseOf(() => Promise.resolve(outcome)))).toBe(outcome);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('aborts a case that does not end in time, and reports it as failed', async () => {
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
    expect(await ending).toEqual({ answers: [], problems: ['The case did not end within 30 s.'] });
  });

  it('reports a case as failed when its response cannot be read', async () => {
    const { problems } = await outcomeOf(caseOf(() => Promise.reject(new Error('cut'))));
    expect(problems).toEqual([expect.stringMatching(/^The response could not be read: Error: cut\n/)]);
    expect(vi.getTimerCount()).toBe(0);
  });
});
