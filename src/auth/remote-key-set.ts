import { KeyObject } from 'node:crypto';
import { createRemoteJWKSet, customFetch, errors, type FetchImplementation } from 'jose';
import { type Refusal, tokenInvalid } from './auth-result.js';
import type { JsonObject } from './compact-jwt.js';
import {
  ALGORITHM_NOT_ALLOWED,
  PUBLIC_KEY_ALGORITHMS,
  type TrustedKey,
  trustKeyObject,
} from './trusted-key.js';

const FETCH_TIMEOUT_MS = 3_000;
/** Limits the fetches that tokens with an unknown `kid` can cause, so that strangers cannot cause a storm. */
const REFRESH_INTERVAL_MS = 60_000;
/** Without any keys nobody gets in, so the first fetch is retried sooner. */
const FIRST_FETCH_RETRY_MS = 1_000;
/**
 * The age at which the set is fetched again even if no `kid` is missing, so that a withdrawn key is
 * forgotten.
 */
const MAX_AGE_MS = 600_000;

/**
 * The JSON Web Key Set (RFC 7517, section 5) at a URL: fetched when first needed, then kept. It is fetched
 * again for an unknown `kid`, and in the background when it is old. While it cannot be fetched, the known
 * keys stay in use.
 *
 * @param url - `http:` or `https:`, without credentials; redirects are not followed
 * @param now - milliseconds since the epoch
 * @returns a function that finds the key named by a token's header and never rejects
 * @throws Error when the URL is not of that kind
 */
export function openRemoteKeySet(
  url: string,
  now: () => number,
): (header: JsonObject) => Promise<TrustedKey | Refusal> {
  let lastFetchMs = -Infinity;

  // jose has a cooldown after a successful fetch; this adds one after a failed fetch.
  const fetchUnlessJustTried: FetchImplementation = (...request) => {
    const interval = keySet.jwks() === undefined ? FIRST_FETCH_RETRY_MS : REFRESH_INTERVAL_MS;
    if (now() < lastFetchMs + interval)
      return Promise.reject(new Error('The key set was requested just now.'));
    lastFetchMs = now();
    return fetch(...request);
  };
  const keySet = createRemoteJWKSet(parseHttpUrl(url), {
    [customFetch]: fetchUnlessJustTried,
    timeoutDuration: FETCH_TIMEOUT_MS,
    cooldownDuration: REFRESH_INTERVAL_MS,
    cacheMaxAge: Infinity,
  });

  return async ({ alg, kid }) => {
    // No HMAC: anyone who can read the set could sign.
    const algorithm = PUBLIC_KEY_ALGORITHMS.find((allowed) => allowed === alg);
    if (algorithm === undefined) return tokenInvalid(ALGORITHM_NOT_ALLOWED);
    if (typeof kid !== 'string') return tokenInvalid("The token's header has no kid that is a string.");
    if (now() >= lastFetchMs + MAX_AGE_MS) keySet.reload().catch(() => undefined);
    try {
      // jose does not check the length of a key.
      const { key } = trustKeyObject(KeyObject.from(await keySet({ alg: algorithm, kid })));
      return { key, algorithms: [algorithm] };
    } catch (cause) {
      const known = keySet.jwks()?.keys.some((key) => key.kid === kid);
      if (known) return tokenInvalid("The token's kid does not name a key for its alg.", cause);
      if (cause instanceof errors.JWKSNoMatchingKey)
        return tokenInvalid("The token's kid names no key of the issuer.", cause);
      return keysUnavailable(cause);
    }
  };
}

/** A refusal because there are no keys to check the token with. */
export function keysUnavailable(cause: unknown): Refusal {
  const message = 'The keys that verify tokens are unavailable. Try again.';
  return { ok: false, reason: 'KEYS_UNAVAILABLE', message, cause };
}

function parseHttpUrl(text: string): URL {
  if (!URL.canParse(text)) throw new Error('The URL of the key set is not a URL.');
  const url = new URL(text);
  if (!['http:', 'https:'].includes(url.protocol))
    throw new Error('The URL of the key set does not begin with http: or https:.');
  if (url.username !== '' || url.password !== '')
    throw new Error('The URL of the key set must not hold credentials.');
  return url;
}
