import { createPublicKey, createSecretKey, type KeyObject } from 'node:crypto';
import type { Algorithm } from 'jsonwebtoken';

/** A key that verifies tokens, and the algorithms that it may be used with (RFC 8725, section 3.1). */
export interface TrustedKey {
  readonly key: KeyObject;
  /** Never changed. Its type allows changes, as jsonwebtoken's types demand. */
  readonly algorithms: Algorithm[];
  /**
   * The length of a public key's signatures, in bytes. A signature of another length is refused before jsonwebtoken
   * sees it. Undefined for a secret: there jsonwebtoken compares the whole signature, so its length, too.
   *
   * - RSA: the length of the modulus (RFC 8017, section 8.1.2). OpenSSL also accepts a signature without its leading
   *   zeros.
   * - EC: the length of two coordinates (RFC 7518, section 3.4). For another length, jsonwebtoken throws an error that is
   *   not of its own classes, as for an unusable key.
   */
  readonly signatureBytes?: number;
}

export const ALGORITHM_NOT_ALLOWED_MESSAGE = "The token's alg is not allowed for the key.";

/** The shortest RSA modulus, in bits (RFC 7518, sections 3.3 and 3.5). */
const RSA_MIN_BITS = 2048;

/**
 * One PEM block and nothing else: `PUBLIC KEY` holds a SubjectPublicKeyInfo (RFC 7468, section 13), `RSA PUBLIC KEY` an
 * RSAPublicKey of PKCS #1.
 */
const PUBLIC_KEY_PEM = /^-----BEGIN (?<label>(?:RSA )?PUBLIC KEY)-----[^-]+-----END \k<label>-----$/;

/** The curves by OpenSSL's names, each with its algorithm and the length of a signature (RFC 7518, section 3.4). */
const CURVES: ReadonlyMap<string, { readonly algorithm: Algorithm; readonly signatureBytes: number }> =
  new Map([
    ['prime256v1', { algorithm: 'ES256', signatureBytes: 64 }],
    ['secp384r1', { algorithm: 'ES384', signatureBytes: 96 }],
    ['secp521r1', { algorithm: 'ES512', signatureBytes: 132 }],
  ]);

/** The algorithms of every RSA key (RFC 7518, sections 3.3 and 3.5). */
const RSA_ALGORITHMS: readonly Algorithm[] = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'];

/** The algorithms that verify with a public key. */
export const PUBLIC_KEY_ALGORITHMS: readonly Algorithm[] = [
  ...RSA_ALGORITHMS,
  ...[...CURVES.values()].map(({ algorithm }) => algorithm),
];

/** The HMAC key that consists of the secret's bytes in UTF-8. The settings check how many there are. */
export function trustedSecret(secret: string): TrustedKey {
  return { key: createSecretKey(Buffer.from(secret)), algorithms: ['HS256', 'HS384', 'HS512'] };
}

/**
 * The public key in a PEM text.
 *
 * @throws Error when the text holds anything else, or a key of a type or length that no algorithm allows
 */
export function trustedKeyFromPem(pem: string): TrustedKey {
  // Node would derive the public key from a private one, but a service that only verifies must not hold a private key.
  if (pem.includes('PRIVATE KEY-----'))
    throw new Error('The PEM holds a private key; give only the public key.');
  if (!PUBLIC_KEY_PEM.test(pem.trim())) throw new Error('The PEM does not hold one public key.');
  return trustedPublicKey(parsePublicKey(pem));
}

/**
 * A public key that is already parsed.
 *
 * @throws Error when no algorithm allows a key of its type or length
 */
export function trustedPublicKey(key: KeyObject): TrustedKey {
  const type = key.asymmetricKeyType;
  if (type === 'ec') return trustedEcKey(key);
  if (type === 'rsa') return trustedRsaKey(key);
  throw new Error(`The public key is of type ${String(type)}; it must be RSA or EC.`);
}

function trustedEcKey(key: KeyObject): TrustedKey {
  const { namedCurve = '' } = key.asymmetricKeyDetails ?? {};
  const curve = CURVES.get(namedCurve);
  if (curve === undefined) throw new Error('The curve of the EC key is not P-256, P-384 or P-521.');
  return { key, algorithms: [curve.algorithm], signatureBytes: curve.signatureBytes };
}

function trustedRsaKey(key: KeyObject): TrustedKey {
  const { modulusLength = 0 } = key.asymmetricKeyDetails ?? {};
  if (modulusLength < RSA_MIN_BITS)
    throw new Error(`The RSA key has ${modulusLength} bits; at least ${RSA_MIN_BITS} are needed.`);
  return { key, algorithms: [...RSA_ALGORITHMS], signatureBytes: Math.ceil(modulusLength / 8) };
}

function parsePublicKey(pem: string): KeyObject {
  try {
    return createPublicKey(pem);
  } catch (cause) {
    throw new Error('The public key in the PEM cannot be read.', { cause });
  }
}
