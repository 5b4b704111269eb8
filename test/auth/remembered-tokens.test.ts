import { describe, expect, it } from 'vitest';
import { rememberTokens } from '../../src/auth/remembered-tokens.js';
import type { AuthResult } from '../../src/auth/token.js';

const EXPIRES_AT_MS = 1_000;

/** An authenticator that accepts values whose token begins with "good", and records every value it is given. */
function recording(late = false): {
  asked: string[];
  authenticate(value: string): AuthResult | Promise<AuthResult>;
} {
  const asked: string[] = [];
  return {
    asked,
    authenticate(value) {
      asked.push(value);
      const result: AuthResult = /^(?:bearer +)?good/i.test(value)
        ? {
            ok: true,
            caller: { subject: value, scopes: new Set() },
            rememberUntilMs: EXPIRES_AT_MS,
          }
        : { ok: false, reason: 'TOKEN_INVALID', message: 'bad' };
      return late ? Promise.resolve(result) : result;
    },
  };
}

describe('an accepted token', () => {
  it.each([false, true])('is verified once (keys from a URL: %s)', async (late) => {
    const inner = recording(late);
    const tokens = rememberTokens(inner, () => 0);
    const first = await tokens.authenticate('good');
    const second = await tokens.authenticate('good');
    expect(second).toEqual(first);
    expect(inner.asked).toEqual(['good']);
  });

  it('is verified again once its exp has passed', async () => {
    const inner = recording();
    let nowMs = EXPIRES_AT_MS - 1;
    const tokens = rememberTokens(inner, () => nowMs);
    await tokens.authenticate('good');
    await tokens.authenticate('good');
    nowMs = EXPIRES_AT_MS;
    await tokens.authenticate('good');
    await tokens.authenticate('good');
    expect(inner.asked).toEqual(['good', 'good', 'good']);
  });

  it.each(['bearer good', 'BEARER good', 'Bearer  good', 'bEaReR     good'])(
    'is verified once, even when a later request spells it %j',
    async (spelled) => {
      const inner = recording();
      const tokens = rememberTokens(inner, () => 0);
      await tokens.authenticate('Bearer good');
      await tokens.authenticate(spelled);
      expect(inner.asked).toEqual(['Bearer good']);
      expect(tokens.remembered.entries).toBe(1);
    },
  );

  it.each(['good', 'Bearergood', ' Bearer good', 'Bearer Bearer good'])(
    'is not returned for the value %j, which holds no token or another one',
    async (value) => {
      const inner = recording();
      const tokens = rememberTokens(inner, () => 0);
      await tokens.authenticate('Bearer good');
      await tokens.authenticate(value);
      expect(inner.asked).toEqual(['Bearer good', value]);
    },
  );

  it('is not returned for another token', async () => {
    const tokens = rememberTokens(recording(), () => 0);
    await tokens.authenticate('good-a');
    expect(await tokens.authenticate('good-b')).toMatchObject({ caller: { subject: 'good-b' } });
  });
});

describe('a refused credential', () => {
  it.each(['bad', ''])('is checked each time: %j', async (value) => {
    const inner = recording();
    const tokens = rememberTokens(inner);
    for (const repeated of [value, value])
      expect(await tokens.authenticate(repeated)).toMatchObject({ ok: false });
    expect(inner.asked).toHaveLength(2);
  });
});

it('the token cache counts its hits, misses and entries', async () => {
  let nowMs = 0;
  const tokens = rememberTokens(recording(), () => nowMs);
  for (const value of ['good', 'good', 'bad', '', 'good-b', 'good']) await tokens.authenticate(value);
  expect(tokens.remembered).toEqual({ hits: 2, misses: 3, entries: 2 });
  nowMs = EXPIRES_AT_MS;
  await tokens.authenticate('good');
  expect(tokens.remembered).toMatchObject({ hits: 2, misses: 4 });
});
