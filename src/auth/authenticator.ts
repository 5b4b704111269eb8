import jsonwebtoken from 'jsonwebtoken';
import { ALGORITHM_NOT_ALLOWED, type TrustedKey, trustPublicKey, trustSecret } from './keys.js';
import { type ClaimNames, type Claims, readClaims } from './claims.js';
import type { RemoteKeySet } from './remote-key-set.js';
import { type AuthResult, type Refusal, tokenInvalid } from './auth-result.js';
import { readBearerToken } from './bearer-token.js';
import { type JsonObject, parseCompactJwt } from './compact-jwt.js';

/** The largest clock difference allowed between issuer and service, in seconds. */
const CLOCK_TOLERANCE_S = 5;

/** Identifies the caller. */
export interface Authenticator {
  /**
   * Checks the `authorization` of a request, as received; empty if there is none. Whatever is sent, it neither throws
   * nor rejects; only a fault of the service may do so. Asynchronous only when it waits for keys from a URL.
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
  if (issuers.length === 0 || issuers.includes('')) throw new Error('The issuer is empty.');
  if (audiences.length === 0 || audiences.includes('')) throw new Error('The audience is empty.');
  const findKeys = openKeys(options.key);
  // A copy whose type shows that it is not empty, as jsonwebtoken's types demand.
  const issuer = [...issuers] as [string, ...string[]];

  /**
   * Why the key does not verify the token, as a sentence; undefined if it does.
   *
   * @throws the library's error if no token can bring it about
   */
  function faultBy(trusted: TrustedKey, token: string, signatureBytes: number): string | undefined {
    const { key, algorithms } = trusted;
    if (trusted.signatureBytes !== undefined && trusted.signatureBytes !== signatureBytes)
      return WRONG_SIGNATURE;

    const clock = { clockTimestamp: now() / 1000, clockTolerance: CLOCK_TOLERANCE_S };
    try {
      jsonwebtoken.verify(token, key, { algorithms, issuer, ...clock });
      return undefined;
    } catch (error) {
      const fault = faultNamedBy(error);
      if (fault === undefined) throw error;
      return fault;
    }
  }

  /** Why none of the keys verifies the token, as a sentence; undefined if one does. */
  function faultByAll(
    keys: readonly TrustedKey[],
    token: string,
    signatureBytes: number,
  ): string | undefined {
    for (const key of keys) {
      const fault = faultBy(key, token, signatureBytes);
      // Any other fault lies in the token itself, since jsonwebtoken checks the claims only of a signature that is valid.
      if (fault !== WRONG_SIGNATURE) return fault;
    }
    return WRONG_SIGNATURE;
  }

  /** The caller that the claims of a verified token name. */
  function admit({ sub: subject, scopes, exp, audiences: named, audienceClaim }: Claims): AuthResult {
    // Not by jsonwebtoken, which knows no claim that stands in for aud.
    if (!named.some((audience) => audiences.includes(audience)))
      return tokenInvalid(`The token's ${audienceClaim} claim does not name this service.`);
    return { ok: true, caller: { subject, scopes }, rememberUntilMs: exp * 1000 };
  }

  return {
    authenticate(authorization) {
      const token = readBearerToken(authorization);
      if (typeof token !== 'string') return token;
      const jwt = parseCompactJwt(token);
      if ('reason' in jwt) return jwt;
      const claims = readClaims(jwt.payload, options);
      if ('reason' in claims) return claims;

      const verify = (found: FoundKeys): AuthResult => {
        if ('reason' in found) return found;
        const fault = faultByAll(found, token, jwt.signatureBytes);
        return fault === undefined ? admit(claims) : tokenInvalid(fault);
      };
      const found = findKeys(jwt.header);
      return found instanceof Promise ? found.then(verify) : verify(found);
    },
  };
}

/** The keys that may have signed a token, at least one, or why there are none. */
type FoundKeys = readonly TrustedKey[] | Refusal;
type FindKeys = (header: JsonObject) => FoundKeys | Promise<FoundKeys>;

function openKeys(key: VerificationKey): FindKeys {
  if (key.kind === 'secrets') return findAmong(key.secrets.map(trustSecret));
  if (key.kind === 'publicKey') return findAmong([trustPublicKey(key.pem)]);
  return (header) => key.keySet.find(header);
}

/** Finds those of some keys, which never change, that allow the token's `alg`. */
function findAmong(keys: readonly TrustedKey[]): FindKeys {
  if (keys.length === 0) throw new Error('There is no secret.');
  return ({ alg }) => {
    const allowed = keys.filter(({ algorithms }) => algorithms.some((algorithm) => algorithm === alg));
    return allowed.length > 0 ? allowed : tokenInvalid(ALGORITHM_NOT_ALLOWED);
  };
}

const EXPIRED = 'The token has expired.';
const WRONG_SIGNATURE = "The token's signature is not valid.";

/**
 * The fault of a token for which jsonwebtoken has refused it, as a sentence without the library's words, some of which
 * name the expected issuer. Undefined for any other error: what else a token may have wrong was checked before, so the
 * service is at fault.
 */
function faultNamedBy(error: unknown): string | undefined {
  if (error instanceof jsonwebtoken.TokenExpiredError) return EXPIRED;
  if (error instanceof jsonwebtoken.NotBeforeError) return 'The token is not valid yet.';
  if (!(error instanceof jsonwebtoken.JsonWebTokenError)) return undefined;

  // The library's other errors differ only in their messages, which its documentation lists.
  const { message } = error;
  if (message === 'invalid signature') return WRONG_SIGNATURE;
  if (message === 'jwt signature is required') return 'The token has no signature.';
  if (message.startsWith('jwt issuer invalid')) return "The token's iss claim is not the expected issuer.";
  return undefined;
}
