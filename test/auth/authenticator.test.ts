import { createSecretKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import fc from '../support/fast-check.js';
import jsonwebtoken from 'jsonwebtoken';
import { describe, expect, it } from 'vitest';
import { createAuthenticator } from '../../src/auth/authenticator.js';
import type { TrustedKey } from '../../src/auth/keys.js';
import { judge, SECRET, signed } from './secret-authenticator.js';
import { ACCEPTED, AUDIENCE, CLAIMS, compact, ISSUER, NOW, signJwt, zeroFirst } from './sign-jwt.js';

const RSA = generateKeyPairSync('rsa', { modulusLength: 2048 });
const SECRET_KEY = createSecretKey(Buffer.from(SECRET));

describe('a valid token', () => {
  it('identifies the caller, its permissions and their expiry', async () => {
    expect(await judge(signed({ ...CLAIMS, scope: 'routes:read' }))).toEqual({
      ok: true,
      caller: { subject: 'alice', scopes: new Set(['routes:read']) },
      rememberUntilMs: CLAIMS.exp * 1000,
    });
  });

  it.each(['RS256', 'PS256'] as const)(
    'is refused without the leading zero byte of its signature: %s',
    async (alg) => {
      const { whole, short } = zeroFirst(RSA.privateKey, { alg }, CLAIMS);
      const pem = RSA.publicKey.export({ type: 'spki', format: 'pem' }).toString();
      const key = { kind: 'publicKey', pem } as const;
      const subject = createAuthenticator({ key, ...ACCEPTED, now: () => NOW * 1000 });
      expect(await subject.authenticate(`Bearer ${whole}`)).toMatchObject({ ok: true });
      expect(await subject.authenticate(`Bearer ${short}`)).toMatchObject({
        ok: false,
        reason: 'TOKEN_INVALID',
      });
    },
  );

  it('may come from jsonwebtoken, with the system clock', async () => {
    const byClock = createAuthenticator({
      key: { kind: 'secrets', secrets: [SECRET] },
      ...ACCEPTED,
    });
    const options = { subject: 'bob', issuer: ISSUER, audience: AUDIENCE, expiresIn: 60 };
    const token = jsonwebtoken.sign({ scope: 'routes:write' }, SECRET, options);
    expect(await byClock.authenticate(`Bearer ${token}`)).toMatchObject({
      ok: true,
      caller: { subject: 'bob' },
    });
  });
});

describe('an authenticator with several secrets', () => {
  const secrets = ['1', '2', '3'].map((digit) => digit.repeat(32));
  const keys = secrets.map((secret) => createSecretKey(Buffer.from(secret)));
  const several = createAuthenticator({
    key: { kind: 'secrets', secrets },
    ...ACCEPTED,
    now: () => NOW * 1000,
  });
  const judgeBySecrets = (key: KeyObject, claims: object) =>
    several.authenticate(`Bearer ${signJwt(key, { alg: 'HS256' }, claims)}`);

  it.each(keys.map((key, index) => [index + 1, key] as const))(
    'accepts a token signed with secret %i, until it has expired',
    async (_, key) => {
      expect(await judgeBySecrets(key, CLAIMS)).toMatchObject({ ok: true });
      const expired = await judgeBySecrets(key, { ...CLAIMS, exp: NOW - 60 });
      expect(expired).toMatchObject({ message: 'The token has expired.' });
    },
  );

  it('refuses a token signed with another secret', async () => {
    expect(await judgeBySecrets(SECRET_KEY, CLAIMS)).toMatchObject({
      message: "The token's signature is not valid.",
    });
  });

  it('needs at least one', () => {
    const key = { kind: 'secrets', secrets: [] } as const;
    expect(() => createAuthenticator({ ...ACCEPTED, key })).toThrow('There is no secret.');
  });
});

// `hostile-tokens.test.ts` has forged tokens of every kind; these have the messages.
describe('a token is refused', () => {
  const [header = '', , signature = ''] = signed().split('.');
  const [, forged = ''] = signed({ ...CLAIMS, sub: 'mallory' }).split('.');
  const stale = { ...CLAIMS, exp: 1, iss: 'x', aud: 'x' };

  it.each([
    ['the signature of another payload', [header, forged, signature].join('.'), 'signature is not valid.'],
    ['no signature at all', compact({ alg: 'HS256' }, CLAIMS), 'The token has no signature.'],
    [
      'an invalid signature, before exp, iss and aud are checked',
      compact({ alg: 'HS256' }, stale, Buffer.alloc(32)),
      'signature is not valid.',
    ],
    ['alg in lower case', compact({ alg: 'hs256' }, CLAIMS), 'alg is not allowed for the key.'],
  ])('with %s', async (_, token, message) => {
    expect(await judge(token)).toMatchObject({
      reason: 'TOKEN_INVALID',
      message: expect.stringContaining(message) as unknown,
    });
  });
});

describe('an authenticator', () => {
  it.each([
    ['issuer', { issuers: [ISSUER, ''] }],
    ['issuer', { issuers: [] }],
    ['audience', { audiences: [AUDIENCE, ''] }],
    ['audience', { audiences: [] }],
  ])('cannot be created with an empty %s: %j', (name, options) => {
    const key = { kind: 'secrets', secrets: [SECRET] } as const;
    expect(() => createAuthenticator({ ...ACCEPTED, key, ...options })).toThrow(
      new Error(`The ${name} is empty.`),
    );
  });

  it('reads its clock to the millisecond', async () => {
    const key = { kind: 'secrets', secrets: [SECRET] } as const;
    const now = (): number => NOW * 1000 + 600;
    const byClock = createAuthenticator({ ...ACCEPTED, key, now });
    const expiring = (exp: number) => byClock.authenticate(`Bearer ${signed({ ...CLAIMS, exp })}`);
    expect(await expiring(NOW - 4.3)).toMatchObject({ ok: true });
    expect(await expiring(NOW - 4.5)).toMatchObject({ message: 'The token has expired.' });
  });
});

it('an authenticator whose key cannot verify at all throws, rather than blame the token', () => {
  const mismatched: TrustedKey = { key: RSA.publicKey, algorithms: ['ES256'] };
  const find = () => [mismatched] as const;
  const subject = createAuthenticator({ key: { kind: 'keySet', keySet: { find } }, ...ACCEPTED });
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const token = signJwt(privateKey, { alg: 'ES256' }, CLAIMS);
  expect(() => subject.authenticate(`Bearer ${token}`)).toThrow('"alg" parameter for "rsa" key type');
});

describe('an authenticator returns a result, without throwing, for', () => {
  it('any bytes in the parts of a token', async () => {
    const bytes = fc.uint8Array({ maxLength: 64 }).map((array) => Buffer.from(array));
    await fc.assert(
      fc.asyncProperty(bytes, bytes, bytes, async (...parts) => {
        expect(await judge(compact(...parts))).toHaveProperty('ok');
      }),
    );
  });

  it('any value of a claim, with a valid signature', async () => {
    const name = fc.constantFrom('iss', 'aud', 'sub', 'exp', 'nbf', 'scope', 'scp', '__proto__', 'toString');
    await fc.assert(
      fc.asyncProperty(name, fc.jsonValue(), async (claim, value) => {
        const payload = Buffer.from(JSON.stringify({ ...CLAIMS, [claim]: value }));
        expect(await judge(signed(payload))).toHaveProperty('ok');
      }),
    );
  });
});
