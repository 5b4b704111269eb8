import { createPublicKey } from 'node:crypto';
import { type JsonObject, isJsonObject } from './compact-jwt.js';
import { type TrustedKey, trustKeyObject } from './trusted-key.js';

/** The keys of an issuer by `kid`. A `kid` whose keys cannot verify any token maps to an empty list. */
export type KeySet = ReadonlyMap<string, readonly TrustedKey[]>;

/** The members that only private and symmetric keys have (RFC 7518, sections 6.2.2, 6.3.2 and 6.4). */
const SECRET_MEMBERS = ['d', 'k'];

/**
 * Reads a JSON Web Key Set (RFC 7517, section 5). Skips keys that cannot verify a token and keys without a `kid`.
 *
 * @throws Error when the value is not a key set
 */
export function readKeySet(value: unknown): KeySet {
  const keys = isJsonObject(value) ? value['keys'] : undefined;
  if (!Array.isArray(keys) || !keys.every(isJsonObject)) throw new Error('It is not a JSON Web Key Set.');
  const set = new Map<string, TrustedKey[]>();
  for (const jwk of keys) {
    const { kid } = jwk;
    if (typeof kid === 'string') set.set(kid, [...(set.get(kid) ?? []), ...trustedKeysOf(jwk)]);
  }
  return set;
}

/** The key, restricted to its `alg`; none if it is not a public key that may verify tokens. */
function trustedKeysOf(jwk: JsonObject): TrustedKey[] {
  const { use = 'sig', key_ops: operations = ['verify'], alg } = jwk;
  const verifies = use === 'sig' && Array.isArray(operations) && operations.includes('verify');
  if (!verifies || SECRET_MEMBERS.some((member) => member in jwk)) return [];
  try {
    const trusted = trustKeyObject(createPublicKey({ key: { ...jwk }, format: 'jwk' }));
    const algorithms = trusted.algorithms.filter((each) => alg === undefined || alg === each);
    return [{ ...trusted, algorithms }];
  } catch {
    return [];
  }
}
