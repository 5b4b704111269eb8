import { createSecretKey, generateKeyPairSync, type JsonWebKey, type KeyObject } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  type Authenticator,
  createAuthenticator,
  type VerificationKey,
} from '../../src/auth/authenticator.js';
import { RemoteKeySet } from '../../src/auth/remote-key-set.js';
import { forgedTokens, signedBy, type TrustedSigner } from './forged-tokens.js';
import { KeySetServer } from './key-set-server.js';
import { SECRET } from './secret-authenticator.js';
import { ACCEPTED, CLAIMS as HONEST, NOW } from './sign-jwt.js';

const CLAIMS = { ...HONEST, scope: 'routes:read routes:write' };

const now = (): number => NOW * 1_000;

const RSA = generateKeyPairSync('rsa', { modulusLength: 2048 });
const EC = generateKeyPairSync('ec', { namedCurve: 'P-256' });

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
    kind: 'an EC key',
    signer: { alg: 'ES256', key: EC.privateKey, publicKey: EC.publicKey, header: {} },
    key: () => pem(EC.publicKey),
  },
  {
    kind: 'the RSA key of a set',
    signer: { alg: 'RS256', key: RSA.privateKey, publicKey: RSA.publicKey, header: { kid: 'main' } },
    key: ({ url }) => ({ kind: 'keySet', keySet: new RemoteKeySet({ url, now }) }),
  },
  {
    kind: 'the only RSA key of a set, without kid in the token,',
    signer: { alg: 'RS256', key: RSA.privateKey, publicKey: RSA.publicKey, header: {} },
    key: ({ url }) => ({ kind: 'keySet', keySet: new RemoteKeySet({ url, now }) }),
  },
];

describe.each(TRUSTED)('when $kind is trusted', ({ signer, key }) => {
  let keySet: KeySetServer;
  let authenticator: Authenticator;

  beforeAll(async () => {
    keySet = await KeySetServer.start(jwk(RSA.publicKey, 'main'), jwk(EC.publicKey, 'ec'));
    authenticator = createAuthenticator({
      key: key(keySet),
      ...ACCEPTED,
      now,
    });
  });

  afterAll(() => keySet.stop());

  it('a valid token is accepted', async () => {
    const token = signedBy(signer, CLAIMS);
    expect(await authenticator.authenticate(`Bearer ${token}`)).toMatchObject({ ok: true });
  });

  it.each(forgedTokens(signer, CLAIMS))('a forged token is refused: %s', async (_, token) => {
    const refusal = await authenticator.authenticate(`Bearer ${token}`);
    expect(refusal).toMatchObject({ ok: false, reason: 'TOKEN_INVALID' });
  });
});
