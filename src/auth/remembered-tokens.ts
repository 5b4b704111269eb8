import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Authenticator } from './authenticator.js';
import type { AuthResult } from './auth-result.js';

/** The maximum number of cached tokens, which take about 5 MB. */
const MAX_TOKENS = 10_000;

/** The scheme in any spelling, normalized in keys: otherwise a caller could fill the cache with one token. */
const SCHEME = /^bearer +/i;

/** The result for an accepted token: the caller, and until when it may be cached. */
type Accepted = AuthResult & { readonly ok: true };

/** An authenticator with a cache of accepted tokens. */
export interface RememberingAuthenticator extends Authenticator {
  /** The cache's hits and misses so far, and its current number of entries. */
  readonly remembered: { readonly hits: number; readonly misses: number; readonly entries: number };
}

/**
 * Caches accepted tokens by their SHA-256, each until its `rememberUntilMs`, to avoid verifying a token for every call.
 * Refusals are not cached.
 *
 * @param now milliseconds since the epoch
 * @param keysVersion returns an object, and another object whenever the keys have changed, which empties the cache.
 *   Default: the keys never change
 */
export function rememberTokens(
  authenticator: Authenticator,
  now: () => number = Date.now,
  keysVersion: () => object | undefined = () => undefined,
): RememberingAuthenticator {
  let hits = 0;
  let misses = 0;
  let verifiedBy = keysVersion();
  const accepted = new LRUCache<string, Accepted>({ max: MAX_TOKENS });

  function remember(key: string, result: AuthResult): AuthResult {
    if (result.ok && result.rememberUntilMs > now()) accepted.set(key, result);
    return result;
  }

  /** A token that was verified by other keys must be verified again. */
  function forgetWithKeys(): void {
    const current = keysVersion();
    if (current !== verifiedBy) accepted.clear();
    verifiedBy = current;
  }

  return {
    authenticate(authorization) {
      // Without a token there is nothing to look up.
      if (authorization === '') return authenticator.authenticate(authorization);

      forgetWithKeys();
      const key = hash('sha256', authorization.replace(SCHEME, 'Bearer '), 'base64');
      const known = accepted.get(key);
      if (known !== undefined && known.rememberUntilMs > now()) {
        hits++;
        return known;
      }

      misses++;
      const result = authenticator.authenticate(authorization);
      return result instanceof Promise ? result.then((late) => remember(key, late)) : remember(key, result);
    },
    get remembered() {
      return { hits, misses, entries: accepted.size };
    },
  };
}
