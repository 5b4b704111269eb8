import { type AsymmetricKeyDetails, createPublicKey, createSecretKey, type KeyObject } from 'node:crypto';
import type { Algorithm } from 'jsonwebtoken';

/** A key that verifies tokens, and the algorithms that it may be used with (RFC 8725, section 3.1). */
export interface TrustedKey {
  readonly key: KeyObject;
  readonly algorithms: Algorithm[];
  /**
   * The length of an RSA key's signatures, in bytes: that of the modulus (RFC 8017, section 8.1.2). OpenSSL also
   * accepts a signature without its leading zeros. If undefined, the length is not checked.
   */
  readonly signatureBytes?: number;
}

/** The message for a token whose `alg` the key does not allow. */
export const ALGORITHM_NOT_ALLOWED = "The token's alg is not allowed for the key.";

/** The shortest RSA modulus, in bits (RFC 7518, sections 3.3 and 3.5). */
const RSA_MIN_BITS = 2048;

/** One block of SPKI or PKCS #1 and nothing else (RFC 7468, section 13). */
const PUBLIC_KEY_PEM = /^-----BEGIN (?<label>(?:RSA )?PUBLIC KEY)-----[^-]+-----END \k<label>-----$/;

/** RFC 7518, section 3.4. */
const ALGORITHM_OF_CURVE: ReadonlyMap<unknown, Algorithm> = new Map([
  ['prime256v1', 'ES256'],
  ['secp384r1', 'ES384'],
  ['secp521r1', 'ES512'],
]);

/** RFC 7518, sections 3.3 and 3.5. */
const RSA_ALGORITHMS: readonly Algorithm[] = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'];

/** The algorithms that verify with a public key. */
export const PUBLIC_KEY_ALGORITHMS: readonly Algorithm[] = [
  ...RSA_ALGORITHMS,
  ...ALGORITHM_OF_CURVE.values(),
];

/** RFC 7518, section 3.5: MGF1 uses the same hash function, and the salt is as long as its output. */
const ALGORITHM_OF_PSS_HASH: ReadonlyMap<unknown, { algorithm: Algorithm; saltBytes: number }> = new Map([
  ['sha256', { algorithm: 'PS256', saltBytes: 32 }],
  ['sha384', { algorithm: 'PS384', saltBytes: 48 }],
  ['sha512', { algorithm: 'PS512', saltBytes: 64 }],
]);

/** An HMAC key from the secret's UTF-8 bytes, whose number the settings have checked. */
export function trustSecret(secret: string): TrustedKey {
  return { key: createSecretKey(Buffer.from(secret)), algorithms: ['HS256', 'HS384', 'HS512'] };
}

/**
 * The public key in a PEM text.
 *
 * @throws Error when the text holds anything else, or a key of a type or length that no algorithm allows
 */
export function trustPublicKey(pem: string): TrustedKey {
  // Node would derive the public key from a private one, but a service that only verifies must not hold a private key.
  if (pem.includes('PRIVATE KEY-----'))
    throw new Error('The PEM holds a private key; give only the public key.');
  if (!PUBLIC_KEY_PEM.test(pem.trim())) throw new Error('The PEM does not hold one public key.');
  return trustKeyObject(parsePublicKey(pem));
}

/**
 * A public key that is already parsed.
 *
 * @throws Error when no algorithm allows a key of its type or length
 */
export function trustKeyObject(key: KeyObject): TrustedKey {
  const algorithms = algorithmsOf(key);
  const { modulusLength } = { ...key.asymmetricKeyDetails };
  return modulusLength === undefined
    ? { key, algorithms }
    : { key, algorithms, signatureBytes: Math.ceil(modulusLength / 8) };
}

function parsePublicKey(pem: string): KeyObject {
  try {
    return createPublicKey(pem);
  } catch (cause) {
    throw new Error('The public key in the PEM cannot be read.', { cause });
  }
}

function algorithmsOf(key: KeyObject): Algorithm[] {
  const type = key.asymmetricKeyType;
  const { namedCurve, modulusLength = 0, ...pssParameters } = { ...key.asymmetricKeyDetails };
  if (type === 'ec') return [curveAlgorithm(namedCurve)];
  if (type !== 'rsa' && type !== 'rsa-pss') throw new Error('The public key is neither RSA nor EC.');
  if (modulusLength < RSA_MIN_BITS)
    throw new Error(`The RSA key has ${modulusLength} bits; at least ${RSA_MIN_BITS} are needed.`);
  if (type === 'rsa-pss') return [pssAlgorithm(pssParameters)];
  return [...RSA_ALGORITHMS];
}

function curveAlgorithm(namedCurve: string | undefined): Algorithm {
  const algorithm = ALGORITHM_OF_CURVE.get(namedCurve);
  if (algorithm) return algorithm;
  throw new Error('The curve of the EC key is not P-256, P-384 or P-521.');
}

function pssAlgorithm({ hashAlgorithm, mgf1HashAlgorithm, saltLength = 0 }: AsymmetricKeyDetails): Algorithm {
  const pss = ALGORITHM_OF_PSS_HASH.get(hashAlgorithm);
  // A key's salt length is the minimum for its signatures.
  if (pss && mgf1HashAlgorithm === hashAlgorithm && saltLength <= pss.saltBytes) return pss.algorithm;
  throw new Error('The parameters of the RSA-PSS key are not those of PS256, PS384 or PS512.');
}
