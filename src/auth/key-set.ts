import { createPublicKey } from 'node:crypto';
import type { Algorithm } from 'jsonwebtoken';
import { type TrustedKey, trustedPublicKey } from './keys.js';
import { isJsonObject, type JsonObject } from './compact-jwt.js';

/** The keys of an issuer that can verify tokens. */
export interface KeySet {
  /** All keys of the set, whether they have a `kid` or not. */
  readonly all: readonly TrustedKey[];
  /** The keys with a `kid`, by it. A `kid` whose keys cannot verify any token maps to an empty list. */
  readonly named: ReadonlyMap<string, readonly TrustedKey[]>;
}

/** The set without keys. */
export const NO_KEYS: KeySet = { all: [], named: new Map() };

/**
 * Reads a JSON Web Key Set (RFC 7517, section 5). Skips keys that cannot verify a token, and those whose `kid` is not a
 * string.
 *
 * @throws Error when the value is not a key set, or has no key that can verify a token
 */
export function readKeySet(value: unknown): KeySet {
  const keys = isJsonObject(value) ? value['keys'] : undefined;
  if (!Array.isArray(keys)) throw new Error('It is not a JSON Web Key Set.');
  const all: TrustedKey[] = [];
  const named = new Map<string, TrustedKey[]>();
  for (const jwk of keys.filter(isJsonObject).map(withoutNulls)) {
    const { kid } = jwk;
    const trusted = trustedKeysOf(jwk);
    if (kid === undefined || typeof kid === 'string') all.push(...trusted);
    if (typeof kid === 'string') named.set(kid, [...(named.get(kid) ?? []), ...trusted]);
  }
  if (all.length === 0) throw new Error('The key set has no key that can verify tokens.');
  return { all, named };
}

/** Some issuers write every member that a key may have, with null for those that it has not. */
function withoutNulls(jwk: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(jwk).filter(([, value]) => value !== null));
}

/** The members that only private and symmetric keys have (RFC 7518, sections 6.2.2, 6.3.2 and 6.4). */
const SECRET_MEMBERS = ['d', 'k'];

/** The key, restricted to its `alg`; none if it is not a public key that may verify tokens. */
function trustedKeysOf(jwk: JsonObject): TrustedKey[] {
  const { use = 'sig', key_ops: operations = ['verify'], alg } = jwk;
  const verifies = use === 'sig' && Array.isArray(operations) && operations.includes('verify');
  if (!verifies || SECRET_MEMBERS.some((member) => member in jwk)) return [];
  try {
    const trusted = trustedPublicKey(createPublicKey({ key: { ...jwk }, format: 'jwk' }));
    const algorithms = trusted.algorithms.filter((name) => alg === undefined || alg === name);
    return algorithms.length === 0 ? [] : [{ ...trusted, algorithms }];
  } catch {
    return [];
  }
}

/** The key of a token, or why there is none. */
type FoundKey =
  | { readonly key: TrustedKey }
  | {
      /** A sentence for the client. */
      readonly fault: string;
      /** Whether a newer set may have the key: it is unknown or ambiguous in this set. */
      readonly mayAppear: boolean;
    };

/**
 * The key of a token with this `alg`: the key that its `kid` names, or without `kid`, which is optional (RFC 7515,
 * section 4.1.4), the only key that fits. Keys are never tried in turn.
 */
export function findKey({ all, named }: KeySet, alg: Algorithm, kid: string | undefined): FoundKey {
  const candidates = kid === undefined ? all : named.get(kid);
  if (candidates === undefined)
    return { fault: "The token's kid names no key of the issuer.", mayAppear: true };
  const [key, ...others] = candidates.filter(({ algorithms }) => algorithms.includes(alg));
  if (key !== undefined && others.length === 0) return { key };
  if (kid !== undefined)
    return { fault: "The token's kid does not name a key for its alg.", mayAppear: false };
  const fault =
    key === undefined
      ? 'The issuer has no key for the alg of the token.'
      : 'The token has no kid, and several keys of the issuer fit its alg.';
  return { fault, mayAppear: true };
}
