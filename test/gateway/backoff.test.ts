import { describe, expect, it } from 'vitest';
import { Backoff } from '../../src/gateway/backoff.js';

/** How long a backoff runs from its last begin on, in whole milliseconds. */
function lengthOf(backoff: Backoff, clock: { ms: number }): number {
  const began = clock.ms;
  while (backoff.running) clock.ms += 1;
  return clock.ms - began;
}

describe('the backoff between attempts to connect', () => {
  it('is none before the first attempt, and none after one that succeeded', () => {
    const backoff = new Backoff(() => 0);
    expect(backoff.running).toBe(false);
    backoff.begin();
    expect(backoff.running).toBe(true);
    backoff.reset();
    expect(backoff.running).toBe(false);
  });

  it('grows from 100 ms by the factor 1.6 to 1 s, each a fifth more or less', () => {
    const clock = { ms: 0 };
    const backoff = new Backoff(() => clock.ms);
    for (const expected of [100, 160, 256, 409.6, 655.36, 1_000, 1_000]) {
      backoff.begin();
      const length = lengthOf(backoff, clock);
      expect(length).toBeGreaterThanOrEqual(Math.floor(expected * 0.8));
      expect(length).toBeLessThanOrEqual(Math.ceil(expected * 1.2));
    }
  });

  it('starts again at 100 ms after an attempt that succeeded', () => {
    const clock = { ms: 0 };
    const backoff = new Backoff(() => clock.ms);
    for (let attempt = 0; attempt < 5; attempt += 1) backoff.begin();
    backoff.reset();
    backoff.begin();
    expect(lengthOf(backoff, clock)).toBeLessThanOrEqual(120);
  });
});
