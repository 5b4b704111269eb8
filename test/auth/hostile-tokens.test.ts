import { createSecretKey, generateKeyPairSync, type JsonWebKey, type KeyObject } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  type Authenticator,
  createAuthenticator,
  type VerificationKey,
} from '../../src/auth/authenticator.js';
import { badClaims } from './bad-claims.js';
import { forgedTokens, signedBy, type TrustedSigner } from './forged-tokens.js';
import { KeySetServer } from './key-set-server.js';
import { SECRET } from './secret-authenticator.js';
import { AUDIENCE, CLAIMS as HONEST, ISSUER, NOW } from './sign-jwt.js';

const CLAIMS = { ...HONEST, scope: 'routes:read routes:write' };

const RSA = generateKeyPairSync('rsa', { modulusLength: 2048 });
const EC = generateKeyPairSync('ec', { namedCurve: 'P-256' });
// As an object, since the declared type of saltLength is not what Node accepts.
const SHA_256: object = { hashAlgorithm: 'sha256', mgf1HashAlgorithm: 'sha256', saltLength: 32 };
const PSS = generateKeyPairSync('rsa-pss', { modulusLength: 2048, ...SHA_256 });

function pem(key: KeyObject): VerificationKey {
  return { kind: 'publicKey', pem: key.export({ type: 'spki', format: 'pem' }).toString() };
}

function jwk(key: KeyObject, kid: string): JsonWebKey {
  return { ...key.export({ format: 'jwk' }), kid };
}

const TRUSTED: { kind: string; signer: TrustedSigner; key: (keySet: KeySetServer) => VerificationKey }[] = [
  {
    kind: 'a secret',
    signer: { alg: 'HS256', key: createSecretKey(Buffer.from(SECRET)), header: {} },
    key: () => ({ kind: 'secrets', secrets: [SECRET] }),
  },
  {
    kind: 'an RSA key',
    signer: { alg: 'RS256', key: RSA.privateKey, publicKey: RSA.publicKey, header: {} },
    key: () => pem(RSA.publicKey),
  },
  {
    kind: 'an RSA-PSS key',
    signer: { alg: 'PS256', key: PSS.privateKey, publicKey: PSS.publicKey, header: {} },
    key: () => pem(PSS.publicKey),
  },
  {
    kind: 'an EC key',
    signer: { alg: 'ES256', key: EC.privateKey, publicKey: EC.publicKey, header: {} },
    key: () => pem(EC.publicKey),
  },
  {
    kind: 'the RSA key of a set',
    signer: { alg: 'RS256', key: RSA.privateKey, publicKey: RSA.publicKey, header: { kid: 'main' } },
    key: ({ url }) => ({ kind: 'jwks', url }),
  },
  {
    kind: 'the EC key of a set',
    signer: { alg: 'ES256', key: EC.privateKey, publicKey: EC.publicKey, header: { kid: 'ec' } },
    key: ({ url }) => ({ kind: 'jwks', url }),
  },
];

describe.each(TRUSTED)('where $kind is trusted', ({ signer, key }) => {
  let keySet: KeySetServer;
  let authenticator: Authenticator;

  beforeAll(async () => {
    keySet = await KeySetServer.start(jwk(RSA.publicKey, 'main'), jwk(EC.publicKey, 'ec'));
    authenticator = createAuthenticator({
      key: key(keySet),
      issuer: ISSUER,
      audience: AUDIENCE,
      now: () => NOW * 1_000,
    });
  });

  afterAll(() => keySet.stop());

  async function expectRefused(...values: string[]): Promise<void> {
    const reason = expect.stringMatching(/^TOKEN_/) as unknown;
    expect(await authenticator.authenticate(values)).toMatchObject({ ok: false, reason });
  }

  it.each([
    ['an honest token', `Bearer ${signedBy(signer, CLAIMS)}`],
    ['an honest token after the scheme in other letters', `bEARER ${signedBy(signer, CLAIMS)}`],
    ['a header that names a type', `Bearer ${signedBy(signer, CLAIMS, { typ: 'at+jwt' })}`],
    ['members that mean nothing', `Bearer ${signedBy(signer, CLAIMS, { x5t: 'A', constructor: 1 })}`],
  ])('%s is accepted', async (_, authorization) => {
    expect(await authenticator.authenticate([authorization])).toMatchObject({ ok: true });
  });

  it.each(forgedTokens(signer, CLAIMS))('a forged token is refused: $title', async ({ token }) => {
    await expectRefused(`Bearer ${token}`);
  });

  it.each(badClaims(CLAIMS, NOW))('a signed token is refused for its claims: $title', async ({ claims }) => {
    await expectRefused(`Bearer ${signedBy(signer, claims)}`);
  });

  const good = signedBy(signer, CLAIMS);
  it.each([
    ['no scheme', good],
    ['another scheme', `Basic ${good}`],
    ['the scheme without its space', `Bearer${good}`],
    ['a tab for the space', `Bearer\t${good}`],
    ['a list of the token and another', `Bearer ${good}, Bearer bad`],
    ['a list of another and the token', `Bearer bad, Bearer ${good}`],
    ['a list of the token twice', `Bearer ${good},Bearer ${good}`],
    ['the token before a comma', `Bearer ${good},`],
    ['the token in quotes', `Bearer "${good}"`],
    ['the token as a parameter', `Bearer token="${good}"`],
    ['the token twice', `Bearer ${good} ${good}`],
    ['the token with a space inside', `Bearer ${good.slice(0, 20)} ${good.slice(20)}`],
    ['the scheme alone', 'Bearer'],
    ['the token behind another scheme', `Basic x, Bearer ${good}`],
    ['the token in percent-encoding', `Bearer ${good.replaceAll('.', '%2E')}`],
    ['more than 8,192 bytes', `Bearer ${signedBy(signer, { ...CLAIMS, padding: 'x'.repeat(6_200) })}`],
  ])('a good token is refused with %s', async (_, authorization) => {
    await expectRefused(authorization);
  });

  it.each([
    ['good ones', good, good],
    ['a good one after a bad one', 'bad', good],
    ['a bad one after a good one', good, 'bad'],
  ])('two values are refused: %s', async (_, one, other) => {
    await expectRefused(`Bearer ${one}`, `Bearer ${other}`);
  });
});

const ORDER = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;

describe('the twin of an ECDSA signature', () => {
  it('says the same, and is as valid (RFC 7518, section 3.4, asks for neither half)', () => {
    const authenticator = createAuthenticator({
      key: pem(EC.publicKey),
      issuer: ISSUER,
      audience: AUDIENCE,
      now: () => NOW * 1_000,
    });
    const [header = '', payload = '', signature = ''] = signedBy(
      { alg: 'ES256', key: EC.privateKey, header: {} },
      CLAIMS,
    ).split('.');
    const bytes = Buffer.from(signature, 'base64url');
    const s = BigInt(`0x${bytes.subarray(32).toString('hex')}`);
    const twin = Buffer.from((ORDER - s).toString(16).padStart(64, '0'), 'hex');
    const token = `${header}.${payload}.${Buffer.concat([bytes.subarray(0, 32), twin]).toString('base64url')}`;
    expect(authenticator.authenticate([`Bearer ${token}`])).toMatchObject({ ok: true });
  });
});
