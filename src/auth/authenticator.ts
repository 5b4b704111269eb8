import { hash } from 'node:crypto';
import jsonwebtoken from 'jsonwebtoken';
import { LRUCache } from 'lru-cache';
import { ALGORITHM_NOT_ALLOWED, type TrustedKey, trustPublicKey, trustSecret } from './keys.js';
import { type ClaimNames, type Claims, readClaims } from './claims.js';
import type { RemoteKeySet } from './remote-key-set.js';
import {
  type AuthResult,
  type JsonObject,
  parseCompactJwt,
  readBearerToken,
  type Refusal,
  tokenInvalid,
} from './token.js';

/** The largest clock difference allowed between issuer and service, in seconds. */
const CLOCK_TOLERANCE_S = 5;

/** Identifies the caller. */
export interface Authenticator {
  /**
   * Checks the `authorization` of a request, as received; empty if there is none. Never throws or rejects. Asynchronous
   * only when it waits for keys from a URL.
   */
  authenticate(authorization: string): AuthResult | Promise<AuthResult>;
}

/** The key or keys that verify tokens. */
export type VerificationKey =
  /** For HS256, HS384 and HS512: one or more secrets of at least 32 bytes in UTF-8. Each verifies tokens. */
  | { readonly kind: 'secrets'; readonly secrets: readonly string[] }
  /** One public key, RSA of 2048 bits or more or EC on P-256, P-384 or P-521; its type determines the algorithms. */
  | { readonly kind: 'publicKey'; readonly pem: string }
  /** The keys that the issuer publishes. */
  | { readonly kind: 'keySet'; readonly keySet: Pick<RemoteKeySet, 'find'> };

/** The tokens to accept. */
interface AuthenticatorOptions extends ClaimNames {
  readonly key: VerificationKey;
  /** The `iss` of every token is one of these; at least one, none of them empty. */
  readonly issuers: readonly string[];
  /** The audience of every token must equal or contain one of these; at least one, none of them empty. */
  readonly audiences: readonly string[];
  /** Milliseconds since the epoch; the system's clock by default. */
  readonly now?: (() => number) | undefined;
}

/**
 * Creates an authenticator for JSON Web Tokens (RFC 7519) used as bearer tokens (RFC 6750).
 *
 * @throws Error with one sentence when the key is unusable, or an issuer or audience is empty
 */
export function createAuthenticator(options: AuthenticatorOptions): Authenticator {
  const { issuers, audiences, now = Date.now } = options;
  const [issuer = '', ...otherIssuers] = issuers;
  if (issuers.length === 0 || issuers.includes('')) throw new Error('The issuer is empty.');
  if (audiences.length === 0 || audiences.includes('')) throw new Error('The audience is empty.');
  const findKeys = openKeys(options.key);

  /** Why the key does not verify the token, as a sentence; undefined if it does. */
  function findFault(
    token: string,
    sent: number,
    { key, algorithms, signatureBytes = sent }: TrustedKey,
  ): string | undefined {
    if (sent !== signatureBytes) return WRONG_SIGNATURE;
    const clock = { clockTimestamp: now() / 1000, clockTolerance: CLOCK_TOLERANCE_S };
    try {
      jsonwebtoken.verify(token, key, { algorithms, issuer: [issuer, ...otherIssuers], ...clock });
      return undefined;
    } catch (error) {
      return explain(error);
    }
  }

  function verify(
    token: string,
    signatureBytes: number,
    claims: Claims,
    keys: readonly TrustedKey[],
  ): AuthResult {
    for (const key of keys) {
      const fault = findFault(token, signatureBytes, key);
      if (fault === undefined) {
        // Not by jsonwebtoken, which knows no claim that stands in for aud.
        if (!claims.audiences.some((audience) => audiences.includes(audience)))
          return tokenInvalid(`The token's ${claims.audienceClaim} claim does not name this service.`);
        const { sub: subject, scopes, exp } = claims;
        return { ok: true, caller: { subject, scopes }, rememberUntilMs: exp * 1000 };
      }
      // Any other fault lies in the token itself, so the other keys would not accept it either.
      if (fault !== WRONG_SIGNATURE) return tokenInvalid(fault);
    }
    return tokenInvalid(WRONG_SIGNATURE);
  }

  return {
    authenticate(authorization) {
      const token = readBearerToken(authorization);
      if (typeof token !== 'string') return token;
      const jwt = parseCompactJwt(token);
      if ('reason' in jwt) return jwt;
      const claims = readClaims(jwt.payload, options);
      if ('reason' in claims) return claims;
      const judge = (found: FoundKeys) =>
        'reason' in found ? found : verify(token, jwt.signatureBytes, claims, found);
      const found = findKeys(jwt.header);
      return found instanceof Promise ? found.then(judge) : judge(found);
    },
  };
}

/** The keys that may have signed a token, at least one, or why there are none. */
type FoundKeys = readonly TrustedKey[] | Refusal;
type FindKeys = (header: JsonObject) => FoundKeys | Promise<FoundKeys>;

function openKeys(key: VerificationKey): FindKeys {
  if (key.kind === 'secrets') return fixedKeys(key.secrets.map(trustSecret));
  if (key.kind === 'publicKey') return fixedKeys([trustPublicKey(key.pem)]);
  return (header) => key.keySet.find(header);
}

/** Finds keys that never change: those that allow the token's `alg`. */
function fixedKeys(keys: readonly TrustedKey[]): FindKeys {
  if (keys.length === 0) throw new Error('There is no secret.');
  return ({ alg }) => {
    const allowed = keys.filter(({ algorithms }) => algorithms.some((name) => name === alg));
    return allowed.length > 0 ? allowed : tokenInvalid(ALGORITHM_NOT_ALLOWED);
  };
}

const EXPIRED = 'The token has expired.';
const WRONG_SIGNATURE = "The token's signature is not valid.";

/** Replaces jsonwebtoken's messages, some of which name the expected issuer. */
function explain(error: unknown): string {
  if (error instanceof jsonwebtoken.TokenExpiredError) return EXPIRED;
  if (error instanceof jsonwebtoken.NotBeforeError) return 'The token is not valid yet.';
  // jsonwebtoken's other errors differ only in their messages, which its documentation lists.
  const message = error instanceof jsonwebtoken.JsonWebTokenError ? error.message : '';
  if (message === 'jwt signature is required') return 'The token has no signature.';
  if (message.startsWith('jwt issuer invalid')) return "The token's iss claim is not the expected issuer.";
  return WRONG_SIGNATURE;
}

/** The maximum number of cached tokens, which take about 5 MB. */
const MAX_TOKENS = 10_000;

/** The scheme in any spelling, normalized in keys: otherwise a caller could fill the cache with one token. */
const SCHEME = /^bearer +/i;

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
 * @param keys what the tokens are verified by: another value empties the cache. Default: always the same
 */
export function rememberTokens(
  authenticator: Authenticator,
  now: () => number = Date.now,
  keys: () => object | undefined = () => undefined,
): RememberingAuthenticator {
  let hits = 0;
  let misses = 0;
  let verifiedBy = keys();
  const accepted = new LRUCache<string, Accepted>({ max: MAX_TOKENS });

  function remember(key: string, result: AuthResult): AuthResult {
    if (result.ok && result.rememberUntilMs > now()) accepted.set(key, result);
    return result;
  }

  return {
    authenticate(authorization) {
      if (authorization === '') return authenticator.authenticate(authorization);
      const current = keys();
      if (current !== verifiedBy) accepted.clear();
      verifiedBy = current;
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
