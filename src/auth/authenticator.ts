import jsonwebtoken from 'jsonwebtoken';
import { type AuthResult, type Refusal, tokenInvalid } from './auth-result.js';
import { readBearerToken } from './bearer-token.js';
import { callerOf, type Claims, readClaims } from './claims.js';
import { type JsonObject, parseCompactJwt } from './compact-jwt.js';
import { openRemoteKeySet } from './remote-key-set.js';
import { ALGORITHM_NOT_ALLOWED, type TrustedKey, trustPublicKey, trustSecret } from './trusted-key.js';

/** The largest clock difference allowed between issuer and service, in seconds. */
const CLOCK_TOLERANCE_S = 5;

/** Identifies the caller. */
export interface Authenticator {
  /**
   * Checks all `authorization` values of a request, as received. Never throws or rejects, whatever they hold. It is
   * asynchronous only when keys come from a URL.
   */
  authenticate(authorization: readonly string[]): AuthResult | Promise<AuthResult>;
}

/** The key that verifies tokens. */
export type VerificationKey =
  /** For HS256, HS384 and HS512: at least 32 bytes in UTF-8. */
  | { readonly kind: 'secret'; readonly secret: string }
  /** One public key, RSA of 2048 bits or more or EC on P-256, P-384 or P-521; its kind decides the algorithms. */
  | { readonly kind: 'publicKey'; readonly pem: string }
  /** Where the issuer publishes its JSON Web Key Set (RFC 7517): `http:` or `https:`. */
  | { readonly kind: 'jwks'; readonly url: string };

/** The tokens to accept. */
export interface AuthenticatorOptions {
  readonly key: VerificationKey;
  /** The `iss` of every token, not empty. */
  readonly issuer: string;
  /** The audience: the `aud` of every token must equal or contain it. Not empty. */
  readonly audience: string;
  /** Milliseconds since the epoch; the system's clock by default. */
  readonly now?: () => number;
}

/**
 * An authenticator for JSON Web Tokens (RFC 7519) used as bearer tokens (RFC 6750).
 *
 * @throws Error with one sentence when the key is unusable, or the issuer or audience is empty
 */
export function createAuthenticator(options: AuthenticatorOptions): Authenticator {
  const { key, issuer, audience, now = Date.now } = options;
  // With an empty one, jsonwebtoken would skip the check.
  if (issuer === '') throw new Error('The issuer is empty.');
  if (audience === '') throw new Error('The audience is empty.');
  const findKey = openKey(key, now);

  function verify(token: string, claims: Claims, { key, algorithms }: TrustedKey): AuthResult {
    const clock = { clockTimestamp: now() / 1000, clockTolerance: CLOCK_TOLERANCE_S };
    try {
      jsonwebtoken.verify(token, key, { algorithms, issuer, audience, ...clock });
    } catch (cause) {
      return tokenInvalid(explain(cause), cause);
    }
    return { ok: true, caller: callerOf(claims), expiresAtMs: claims.exp * 1000 };
  }

  return {
    authenticate(authorization) {
      const token = readBearerToken(authorization);
      if (typeof token !== 'string') return token;
      const jwt = parseCompactJwt(token);
      if ('reason' in jwt) return jwt;
      const claims = readClaims(jwt.payload);
      if ('reason' in claims) return claims;
      const judge = (key: TrustedKey | Refusal) => ('reason' in key ? key : verify(token, claims, key));
      const key = findKey(jwt.header);
      return key instanceof Promise ? key.then(judge) : judge(key);
    },
  };
}

type FindKey = (header: JsonObject) => TrustedKey | Refusal | Promise<TrustedKey | Refusal>;

function openKey(key: VerificationKey, now: () => number): FindKey {
  switch (key.kind) {
    case 'secret':
      return offer(trustSecret(key.secret));
    case 'publicKey':
      return offer(trustPublicKey(key.pem));
    case 'jwks':
      return openRemoteKeySet(key.url, now);
  }
}

/** One key for every token whose `alg` it allows. */
function offer(key: TrustedKey): FindKey {
  return ({ alg }) =>
    key.algorithms.some((allowed) => allowed === alg) ? key : tokenInvalid(ALGORITHM_NOT_ALLOWED);
}

/** The message for an expired token. */
export const EXPIRED = 'The token has expired.';

/** Words of our own for the refusals of jsonwebtoken, some of whose messages name the issuer or the audience. */
function explain(error: unknown): string {
  if (error instanceof jsonwebtoken.TokenExpiredError) return EXPIRED;
  if (error instanceof jsonwebtoken.NotBeforeError) return 'The token is not valid yet.';
  // Its other refusals differ only in the messages that its documentation lists.
  const message = error instanceof jsonwebtoken.JsonWebTokenError ? error.message : '';
  if (message === 'jwt signature is required') return 'The token has no signature.';
  if (message.startsWith('jwt issuer invalid')) return "The token's iss claim is not the expected issuer.";
  if (message.startsWith('jwt audience invalid')) return "The token's aud claim does not name this service.";
  return "The token's signature is not valid.";
}
