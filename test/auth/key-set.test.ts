import { createSecretKey, generateKeyPairSync, type JsonWebKey, type KeyObject } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { readKeySet } from '../../src/auth/key-set.js';
import type { Header } from './sign-jwt.js';
import { jwk, TestIssuer } from './test-issuer.js';

const RSA = generateKeyPairSync('rsa', { modulusLength: 2048 });
const NEXT_RSA = generateKeyPairSync('rsa', { modulusLength: 2048 });
const SMALL_RSA = generateKeyPairSync('rsa', { modulusLength: 1024 });
const P_256 = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const P_384 = generateKeyPairSync('ec', { namedCurve: 'P-384' });
const P_521 = generateKeyPairSync('ec', { namedCurve: 'P-521' });
const ED25519 = generateKeyPairSync('ed25519');
const SECRET = createSecretKey(Buffer.alloc(32, 'k'));

const UNKNOWN_KID = "The token's kid names no key of the issuer.";
const UNUSABLE_KID = "The token's kid does not name a key for its alg.";
const AMBIGUOUS = 'The token has no kid, and several keys of the issuer fit its alg.';
const NONE_FITS = 'The issuer has no key for the alg of the token.';

const RSA_JWK = jwk(RSA.publicKey, { kid: 'rsa' });
const EC_JWK = jwk(P_256.publicKey, { kid: 'ec' });

describe('the key that the kid names', () => {
  it.each<[Header['alg'], KeyObject, string]>([
    ['RS256', RSA.privateKey, 'rsa'],
    ['PS512', RSA.privateKey, 'rsa'],
    ['ES256', P_256.privateKey, 'ec'],
    ['ES384', P_384.privateKey, 'p-384'],
    ['ES512', P_521.privateKey, 'p-521'],
  ])('verifies a token with alg %s', async (alg, key, kid) => {
    const p384 = jwk(P_384.publicKey, { kid: 'p-384' });
    const p521 = jwk(P_521.publicKey, { kid: 'p-521', use: 'sig', key_ops: ['verify'] });
    const issuer = await TestIssuer.start(RSA_JWK, EC_JWK, p384, p521);
    expect(await issuer.judge(key, { alg, kid })).toMatchObject({ ok: true, caller: { subject: 'alice' } });
  });

  it('is the only key of the set that is tried', async () => {
    const issuer = await TestIssuer.start(RSA_JWK, jwk(SMALL_RSA.publicKey, { kid: 'other' }));
    expect(await issuer.judge(SMALL_RSA.privateKey, { alg: 'RS256', kid: 'rsa' })).toMatchObject({
      reason: 'TOKEN_INVALID',
      message: "The token's signature is not valid.",
    });
  });

  it.each(['use', 'alg', 'key_ops', 'd'])(
    'may have the member %s with null, as if it were absent',
    async (name) => {
      const issuer = await TestIssuer.start({ ...RSA_JWK, [name]: null });
      expect(await issuer.judge(RSA.privateKey, { alg: 'RS256', kid: 'rsa' })).toMatchObject({ ok: true });
    },
  );

  it.each([null, 5, 'rsa', [RSA_JWK]])('stands beside an entry that is no object: %j', async (entry) => {
    const issuer = await TestIssuer.start(entry as object, RSA_JWK);
    expect(await issuer.judge(RSA.privateKey, { alg: 'RS256', kid: 'rsa' })).toMatchObject({ ok: true });
  });
});

describe('a token is refused, whatever its signature, when', () => {
  it.each<[string, KeyObject, Header, string]>([
    [
      'its alg is an HMAC',
      SECRET,
      { alg: 'HS256', kid: 'hmac' },
      "The token's alg is not allowed for the key.",
    ],
    ['its kid is a number', RSA.privateKey, { alg: 'RS256', kid: 1 }, "The token's kid is not a string."],
    ['its kid is null', RSA.privateKey, { alg: 'RS256', kid: null }, "The token's kid is not a string."],
    ['its kid is unknown', RSA.privateKey, { alg: 'RS256', kid: 'RSA' }, UNKNOWN_KID],
    ['its kid is empty', RSA.privateKey, { alg: 'RS256', kid: '' }, UNKNOWN_KID],
    ['its kid is a path', RSA.privateKey, { alg: 'RS256', kid: '../../dev/null' }, UNKNOWN_KID],
    ['its kid names a key of another type', RSA.privateKey, { alg: 'RS256', kid: 'ec' }, UNUSABLE_KID],
    ['its kid names a key for another alg', RSA.privateKey, { alg: 'RS512', kid: 'rs256' }, UNUSABLE_KID],
    ['its kid names a key for another curve', P_256.privateKey, { alg: 'ES384', kid: 'ec' }, UNUSABLE_KID],
    ['its kid names two keys for its alg', RSA.privateKey, { alg: 'RS256', kid: 'twice' }, UNUSABLE_KID],
    [
      'its kid is a property name of JavaScript objects',
      RSA.privateKey,
      { alg: 'RS256', kid: '__proto__' },
      UNKNOWN_KID,
    ],
  ])('%s', async (_, key, header, message) => {
    const issuer = await TestIssuer.start(
      { kty: 'oct', kid: 'hmac', k: SECRET.export().toString('base64url') },
      RSA_JWK,
      EC_JWK,
      jwk(RSA.publicKey, { kid: 'rs256', alg: 'RS256' }),
      jwk(RSA.publicKey, { kid: 'twice' }),
      jwk(P_256.publicKey, { kid: 'twice' }),
      jwk(NEXT_RSA.publicKey, { kid: 'twice' }),
    );
    expect(await issuer.judge(key, header)).toMatchObject({ ok: false, reason: 'TOKEN_INVALID', message });
  });
});

/** Keys that can verify no token, by what is wrong with them. */
const UNFIT: readonly (readonly [string, JsonWebKey])[] = [
  ['is for encryption', jwk(NEXT_RSA.publicKey, { use: 'enc' })],
  ['may only wrap keys', jwk(NEXT_RSA.publicKey, { kid: 'wrap', key_ops: ['wrapKey', 'unwrapKey'] })],
  ['has an alg for encryption', jwk(NEXT_RSA.publicKey, { alg: 'RSA-OAEP-256' })],
  ['has 1024 bits', jwk(SMALL_RSA.publicKey, {})],
  ['is private', jwk(NEXT_RSA.privateKey, {})],
  ['is a secret', { kty: 'oct', k: SECRET.export().toString('base64url'), alg: 'RS256' }],
  ['has a kid that is not a string', { ...jwk(NEXT_RSA.publicKey, {}), kid: 5 }],
  ['is for EdDSA', jwk(ED25519.publicKey, { kid: 'ed' })],
  ['has a type that nobody knows', { kty: 'PQC', alg: 'RS256' }],
  ['is an empty object', {}],
];

describe('a set is no key set when its only key', () => {
  it.each(UNFIT)('%s', (_, unfit) => {
    expect(() => readKeySet({ keys: [unfit] })).toThrow('The key set has no key that can verify tokens.');
  });
});

describe('a token without kid', () => {
  it.each<readonly [string, JsonWebKey]>([
    ['has another alg', jwk(NEXT_RSA.publicKey, { kid: 'other', alg: 'RS512' })],
    ['is of another type', jwk(P_256.publicKey, {})],
  ])('fits no key that %s', async (_, unfit) => {
    const issuer = await TestIssuer.start(unfit, EC_JWK);
    const refusal = { reason: 'TOKEN_INVALID', message: NONE_FITS };
    expect(await issuer.judge(NEXT_RSA.privateKey, { alg: 'RS256' })).toMatchObject(refusal);
    // Beside it, a key that fits is the only one.
    await issuer.replaceKeys(unfit, jwk(RSA.publicKey, {}));
    expect(await issuer.judge(RSA.privateKey, { alg: 'RS256' })).toMatchObject({ ok: true });
  });

  it('is refused, whichever key signed it, while several keys fit its alg', async () => {
    const issuer = await TestIssuer.start(RSA_JWK, jwk(NEXT_RSA.publicKey, {}), EC_JWK);
    const refusal = { ok: false, reason: 'TOKEN_INVALID', message: AMBIGUOUS };
    expect(await issuer.judge(RSA.privateKey, { alg: 'RS256' })).toEqual(refusal);
    expect(await issuer.judge(NEXT_RSA.privateKey, { alg: 'RS256' })).toEqual(refusal);
    expect(await issuer.judge(RSA.privateKey, { alg: 'RS256', kid: 'rsa' })).toMatchObject({ ok: true });
    expect(await issuer.judge(P_256.privateKey, { alg: 'ES256' })).toMatchObject({ ok: true });
  });

  it('is verified by a key without kid, which verifies no token with one', async () => {
    const issuer = await TestIssuer.start({ ...jwk(RSA.publicKey, {}), kid: null });
    for (const kid of ['rsa', 'undefined', 'null', ''])
      expect(await issuer.judge(RSA.privateKey, { alg: 'RS256', kid })).toMatchObject({
        reason: 'TOKEN_INVALID',
        message: UNKNOWN_KID,
      });
    expect(await issuer.judge(RSA.privateKey, { alg: 'RS256' })).toMatchObject({ ok: true });
  });
});
