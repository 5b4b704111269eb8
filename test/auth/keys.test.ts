import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { trustedKeyFromPem, trustedSecret } from '../../src/auth/keys.js';

const spki = (key: KeyObject): string => key.export({ type: 'spki', format: 'pem' }).toString();
const RSA = generateKeyPairSync('rsa', { modulusLength: 2048 });
const RSA_PEM = spki(RSA.publicKey);
const RSA_ALGORITHMS = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'];

function ec(namedCurve: string): string {
  return spki(generateKeyPairSync('ec', { namedCurve }).publicKey);
}

describe('a secret', () => {
  it('may have 32 bytes and is valid only for HMAC', () => {
    expect(trustedSecret('a'.repeat(32)).algorithms).toEqual(['HS256', 'HS384', 'HS512']);
  });

  it('is measured in bytes of UTF-8', () => {
    expect(trustedSecret('🗝'.repeat(8)).key.symmetricKeySize).toBe(32);
  });
});

describe('a public key determines its algorithms:', () => {
  it.each([
    ['RSA', RSA_PEM, RSA_ALGORITHMS],
    ['RSA as PKCS #1', RSA.publicKey.export({ type: 'pkcs1', format: 'pem' }).toString(), RSA_ALGORITHMS],
    ['RSA between empty lines', `\n${RSA_PEM}\n\n`, RSA_ALGORITHMS],
    ['RSA with CRLF', RSA_PEM.replaceAll('\n', '\r\n'), RSA_ALGORITHMS],
    ['EC on P-256', ec('P-256'), ['ES256']],
    ['EC on P-384', ec('P-384'), ['ES384']],
    ['EC on P-521', ec('P-521'), ['ES512']],
  ])('%s', (_, pem, algorithms) => {
    expect(trustedKeyFromPem(pem).algorithms).toEqual(algorithms);
  });
});

describe('a public key is refused when it is', () => {
  const NOT_ONE = 'The PEM does not hold one public key.';
  const PRIVATE = 'The PEM holds a private key; give only the public key.';
  const of = (type: string): string => `The public key is of type ${type}; it must be RSA or EC.`;
  const encrypted = { type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'test' } as const;
  it.each([
    ['empty', '', NOT_ONE],
    ['not PEM', 'ssh-rsa AAAAB3Nza', NOT_ONE],
    ['a certificate', RSA_PEM.replaceAll('PUBLIC KEY', 'CERTIFICATE'), NOT_ONE],
    ['two keys', `${RSA_PEM}${RSA_PEM}`, NOT_ONE],
    ['truncated', RSA_PEM.slice(0, -20), NOT_ONE],
    ['garbage in a PEM', RSA_PEM.replace('MII', 'AAA'), 'The public key in the PEM cannot be read.'],
    ['a private key', RSA.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(), PRIVATE],
    ['a private key as PKCS #1', RSA.privateKey.export({ type: 'pkcs1', format: 'pem' }).toString(), PRIVATE],
    ['an encrypted private key', RSA.privateKey.export(encrypted).toString(), PRIVATE],
    [
      'a public key with its private key',
      `${RSA_PEM}${RSA.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()}`,
      PRIVATE,
    ],
    [
      'RSA with 1024 bits',
      spki(generateKeyPairSync('rsa', { modulusLength: 1024 }).publicKey),
      'The RSA key has 1024 bits; at least 2048 are needed.',
    ],
    ['RSA-PSS', spki(generateKeyPairSync('rsa-pss', { modulusLength: 2048 }).publicKey), of('rsa-pss')],
    ['EC on another curve', ec('secp256k1'), 'The curve of the EC key is not P-256, P-384 or P-521.'],
    ['Ed25519', spki(generateKeyPairSync('ed25519').publicKey), of('ed25519')],
  ])('%s', (_, pem, message) => {
    expect(() => trustedKeyFromPem(pem)).toThrow(expect.objectContaining({ message }));
  });
});
