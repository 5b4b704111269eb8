import { describe, expect, it } from 'vitest';
import { rememberTokens } from '../../src/auth/remembered-tokens.js';
import type { AuthResult } from '../../src/auth/auth-result.js';

const EXPIRES_AT_MS = 1_000;

/** Accepts values whose token begins with "good", until `EXPIRES_AT_MS`, with the value as the subject. */
function verify(value: string): AuthResult {
  return /^bearer +good/i.test(value)
    ? { ok: true, caller: { subject: value, scopes: new Set() }, rememberUntilMs: EXPIRES_AT_MS }
    : { ok: false, reason: 'TOKEN_INVALID', message: 'bad' };
}

/** An authenticator that records every value that it verifies. */
interface RecordingAuthenticator {
  readonly verified: string[];
  authenticate(value: string): AuthResult | Promise<AuthResult>;
}

function recordingAuthenticator(): RecordingAuthenticator {
  const verified: string[] = [];
  return {
    verified,
    authenticate(value) {
      verified.push(value);
      return verify(value);
    },
  };
}

/** As `recordingAuthenticator`, but its results come later, as when keys have to be fetched. */
function lateRecordingAuthenticator(): RecordingAuthenticator {
  const inner = recordingAuthenticator();
  return {
    verified: inner.verified,
    authenticate: (value) => Promise.resolve(inner.authenticate(value)),
  };
}

describe('an accepted token', () => {
  it.each([
    { when: 'at once', create: recordingAuthenticator },
    { when: 'later', create: lateRecordingAuthenticator },
  ])('is verified once if the result comes $when', async ({ create }) => {
    const authenticator = create();
    const tokens = rememberTokens(authenticator, () => 0);
    const first = await tokens.authenticate('Bearer good');
    const second = await tokens.authenticate('Bearer good');
    expect(first).toMatchObject({ ok: true });
    expect(second).toEqual(first);
    expect(authenticator.verified).toEqual(['Bearer good']);
  });

  it('is verified for each request once its exp has passed', async () => {
    const authenticator = recordingAuthenticator();
    let nowMs = EXPIRES_AT_MS - 1;
    const tokens = rememberTokens(authenticator, () => nowMs);
    await tokens.authenticate('Bearer good');
    await tokens.authenticate('Bearer good');
    expect(authenticator.verified).toHaveLength(1);

    nowMs = EXPIRES_AT_MS;
    await tokens.authenticate('Bearer good');
    await tokens.authenticate('Bearer good');
    expect(authenticator.verified).toHaveLength(3);
  });

  it.each(['bearer good', 'BEARER good', 'Bearer  good', 'bEaReR     good'])(
    'is verified once, even when a later request spells its scheme %j',
    async (value) => {
      const authenticator = recordingAuthenticator();
      const tokens = rememberTokens(authenticator, () => 0);
      await tokens.authenticate('Bearer good');
      await tokens.authenticate(value);
      expect(authenticator.verified).toEqual(['Bearer good']);
      expect(tokens.remembered.entries).toBe(1);
    },
  );

  it.each(['good', 'Bearergood', ' Bearer good', 'Bearer Bearer good'])(
    'does not stand for %j, which is another credential',
    async (value) => {
      const authenticator = recordingAuthenticator();
      const tokens = rememberTokens(authenticator, () => 0);
      await tokens.authenticate('Bearer good');
      await tokens.authenticate(value);
      expect(authenticator.verified).toEqual(['Bearer good', value]);
    },
  );

  it('does not stand for another token', async () => {
    const tokens = rememberTokens(recordingAuthenticator(), () => 0);
    await tokens.authenticate('Bearer good-a');
    expect(await tokens.authenticate('Bearer good-b')).toMatchObject({
      caller: { subject: 'Bearer good-b' },
    });
  });
});

describe('a refused value', () => {
  it.each(['Bearer bad', ''])('is verified for each request: %j', async (value) => {
    const authenticator = recordingAuthenticator();
    const tokens = rememberTokens(authenticator);
    expect(await tokens.authenticate(value)).toMatchObject({ ok: false });
    expect(await tokens.authenticate(value)).toMatchObject({ ok: false });
    expect(authenticator.verified).toEqual([value, value]);
  });
});

describe('the token cache', () => {
  it('counts its hits, misses and entries', async () => {
    const tokens = rememberTokens(recordingAuthenticator(), () => 0);
    await tokens.authenticate('Bearer good');
    await tokens.authenticate('Bearer bad');
    await tokens.authenticate('Bearer good-b');
    expect(tokens.remembered).toEqual({ hits: 0, misses: 3, entries: 2 });

    await tokens.authenticate('Bearer good');
    await tokens.authenticate('Bearer good');
    expect(tokens.remembered).toEqual({ hits: 2, misses: 3, entries: 2 });
  });

  it('counts a token that has expired as a miss', async () => {
    let nowMs = 0;
    const tokens = rememberTokens(recordingAuthenticator(), () => nowMs);
    await tokens.authenticate('Bearer good');
    nowMs = EXPIRES_AT_MS;
    await tokens.authenticate('Bearer good');
    expect(tokens.remembered).toMatchObject({ hits: 0, misses: 2 });
  });

  it('does not count requests without a token', async () => {
    const tokens = rememberTokens(recordingAuthenticator());
    await tokens.authenticate('');
    expect(tokens.remembered).toEqual({ hits: 0, misses: 0, entries: 0 });
  });
});
