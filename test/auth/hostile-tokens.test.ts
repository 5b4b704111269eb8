import { createSecretKey, generateKeyPairSync, type JsonWebKey, type KeyObject } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  type Authenticator,
  createAuthenticator,
  type VerificationKey,
} from '../../src/auth/authenticator.js';
import { forgedTokens, signedBy, type TrustedSigner } from './forged-tokens.js';
import { KeySetServer } from './key-set-server.js';
import { SECRET } from './secret-authenticator.js';
import { AUDIENCE, CLAIMS as HONEST, ISSUER, NOW } from './sign-jwt.js';

const CLAIMS = { ...HONEST, scope: 'routes:read routes:write' };

const RSA = generateKeyPairSync('rsa', { modulusLength: 2048 });
const EC = generateKeyPairSync('ec', { namedCurve: 'P-256' });
// Typed as an object because the declared type of saltLength differs from what Node accepts.
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
  {
    kind: 'the only RSA key of a set, without kid in the token,',
    signer: { alg: 'RS256', key: RSA.privateKey, publicKey: RSA.publicKey, header: {} },
    key: ({ url }) => ({ kind: 'jwks', url }),
  },
];

describe.each(TRUSTED)('when $kind is trusted', ({ signer, key }) => {
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

  it.each([
    ['a valid token', `Bearer ${signedBy(signer, CLAIMS)}`],
    ['a valid token after a scheme in mixed case', `bEARER ${signedBy(signer, CLAIMS)}`],
    ['a valid token whose header has a typ', `Bearer ${signedBy(signer, CLAIMS, { typ: 'at+jwt' })}`],
    [
      'a valid token whose header has unknown members',
      `Bearer ${signedBy(signer, CLAIMS, { x5t: 'A', constructor: 1 })}`,
    ],
  ])('%s is accepted', async (_, authorization) => {
    expect(await authenticator.authenticate(authorization)).toMatchObject({ ok: true });
  });

  it.each(forgedTokens(signer, CLAIMS))('a forged token is refused: $title', async ({ token }) => {
    const refusal = await authenticator.authenticate(`Bearer ${token}`);
    expect(refusal).toMatchObject({ ok: false, reason: 'TOKEN_INVALID' });
  });
});

const ORDER = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;

describe('an ECDSA signature with n − s in place of s', () => {
  it('is valid too: RFC 7518, section 3.4, requires neither of the two', () => {
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
    expect(authenticator.authenticate(`Bearer ${token}`)).toMatchObject({ ok: true });
  });
});
