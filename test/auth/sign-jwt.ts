import { constants, createHmac, type KeyObject, sign } from 'node:crypto';

/** The current time in tests: 2030-01-01T00:00:00Z, in seconds. */
export const NOW = 1_893_456_000;
export const ISSUER = 'https://issuer.test';
export const AUDIENCE = 'routes.test';

/** The tokens that an authenticator accepts by default. */
export const ACCEPTED = {
  issuers: [ISSUER],
  audiences: [AUDIENCE],
  scopeClaims: ['scope', 'scp'].map((name) => ({ name, path: [name] })),
} as const;

/** The claims of a token from the trusted issuer, which expires in a minute. */
export const CLAIMS = { iss: ISSUER, aud: AUDIENCE, sub: 'alice', exp: NOW + 60 } as const;

/** One part of a token: a value to write as JSON, or raw bytes. */
export type Part = Buffer | object | string | number | null;

/** The JOSE header of a signed token: at least its `alg`. */
export type Header = { readonly alg: `${keyof typeof SIGNERS}${256 | 384 | 512}` } & Readonly<
  Record<string, unknown>
>;

/** A token in compact serialization, built by hand so that any part can be malformed. */
export function compact(header: Part, payload: Part, signature: Buffer = Buffer.alloc(0)): string {
  return `${encode(header)}.${encode(payload)}.${signature.toString('base64url')}`;
}

/** A token signed with its header's `alg` (RFC 7518, section 3.1), whatever else the header holds. */
export function signJwt(key: KeyObject, header: Header, payload: Part): string {
  const signingInput = `${encode(header)}.${encode(payload)}`;
  const signer = SIGNERS[header.alg.slice(0, 2) as keyof typeof SIGNERS];
  const signature = signer(`sha${header.alg.slice(2)}`, Buffer.from(signingInput), key);
  return `${signingInput}.${signature.toString('base64url')}`;
}

/** A token whose signature begins with a zero byte, with that byte and without it. */
export function zeroFirst(
  key: KeyObject,
  header: Header,
  claims: object,
): { readonly whole: string; readonly short: string } {
  for (let jti = 0; ; jti++) {
    const whole = signJwt(key, header, { ...claims, jti });
    const signedParts = whole.slice(0, whole.lastIndexOf('.'));
    const signature = Buffer.from(whole.slice(signedParts.length + 1), 'base64url');
    const short = `${signedParts}.${signature.subarray(1).toString('base64url')}`;
    if (signature[0] === 0) return { whole, short };
  }
}

function encode(part: Part): string {
  return (Buffer.isBuffer(part) ? part : Buffer.from(JSON.stringify(part))).toString('base64url');
}

const SIGNERS = {
  HS: (hash: string, input: Buffer, key: KeyObject) => createHmac(hash, key).update(input).digest(),
  RS: (hash: string, input: Buffer, key: KeyObject) => sign(hash, input, key),
  PS: (hash: string, input: Buffer, key: KeyObject) =>
    sign(hash, input, {
      key,
      padding: constants.RSA_PKCS1_PSS_PADDING,
      saltLength: constants.RSA_PSS_SALTLEN_DIGEST,
    }),
  ES: (hash: string, input: Buffer, key: KeyObject) => sign(hash, input, { key, dsaEncoding: 'ieee-p1363' }),
};
