import jsonwebtoken from 'jsonwebtoken';
import { ALGORITHM_NOT_ALLOWED_MESSAGE, type TrustedKey, trustedKeyFromPem, trustedSecret } from './keys.js';
import { type ClaimNames, type Claims, readClaims } from './claims.js';
import type { RemoteKeySet } from './remote-key-set.js';
import { type AuthResult, isRefusal, type Refusal, tokenInvalid } from './auth-result.js';
import { readBearerToken } from './bearer-token.js';
import { type JsonObject, parseCompactJwt } from './compact-jwt.js';

/** The largest clock difference allowed between issuer and service, in seconds. */
const CLOCK_TOLERANCE_S = 5;

const WRONG_SIGNATURE = "The token's signature is not valid.";

/** Identifies the caller. */
export interface Authenticator {
  /**
   * Checks the `authorization` of a request, as received; empty if there is none. Throws or rejects only if the service is
   * at fault, never because of what is sent. Returns a promise only if it waits for keys from a URL.
   */
  authenticate(authorization: string): AuthResult | Promise<AuthResult>;
}

/** The key or keys that verify tokens. */
export type VerificationKey =
  /** For HS256, HS384 and HS512: one or more secrets of at least 32 bytes in UTF-8. Each verifies tokens. */
  | { readonly kind: 'secrets'; readonly secrets: readonly string[] }
  /** One public key, RSA of 2048 bits or more or EC on P-256, P-384 or P-521; its type determines the algorithms. */
  | { readonly kind: 'publicKey'; readonly pem: string }
  /** The keys that the issuer publishes at a URL: `jwks` in the settings. */
  | { readonly kind: 'keySet'; readonly keySet: Pick<RemoteKeySet, 'find'> };

/** The tokens to accept, and by `ClaimNames`, the claims to read from them. */
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
  const findKeys = keyFinderFor(options.key);
  // jsonwebtoken's types demand a non-empty tuple of issuers.
  const issuer = [...issuers] as [string, ...string[]];

  return {
    authenticate(authorization) {
      const token = readBearerToken(authorization);
      if (typeof token !== 'string') return token;
      const jwt = parseCompactJwt(token);
      if (isRefusal(jwt)) return jwt;
      const claims = readClaims(jwt.payload, options);
      if (isRefusal(claims)) return claims;

      const verify = (found: FoundKeys): AuthResult => {
        if (isRefusal(found)) return found;
        const reason = whyAllKeysRefuse(found, token, jwt.signatureBytes);
        return reason === undefined ? resultFrom(claims) : tokenInvalid(reason);
      };
      const found = findKeys(jwt.header);
      return found instanceof Promise ? found.then(verify) : verify(found);
    },
  };

  /** Why all of the keys refuse the token, as a sentence; undefined if one of them verifies the token. */
  function whyAllKeysRefuse(
    keys: readonly TrustedKey[],
    token: string,
    signatureBytes: number,
  ): string | undefined {
    for (const key of keys) {
      const reason = whyKeyRefuses(key, token, signatureBytes);
      // The key verifies the token (undefined), or the reason lies in the token itself and holds for every key, since
      // jsonwebtoken checks the claims only of a signature that is valid.
      if (reason !== WRONG_SIGNATURE) return reason;
    }
    return WRONG_SIGNATURE;
  }

  /**
   * Why the key refuses the token, as a sentence; undefined if it verifies the token.
   *
   * @throws any error of the library that is not the token's fault
   */
  function whyKeyRefuses(trusted: TrustedKey, token: string, signatureBytes: number): string | undefined {
    const { key, algorithms } = trusted;
    const hasWrongLength = trusted.signatureBytes !== undefined && trusted.signatureBytes !== signatureBytes;
    // The library accepts some signatures of another length, and fails for others (`TrustedKey`).
    if (hasWrongLength) return WRONG_SIGNATURE;

    const clock = { clockTimestamp: now() / 1000, clockTolerance: CLOCK_TOLERANCE_S };
    try {
      jsonwebtoken.verify(token, key, { algorithms, issuer, ...clock });
      return undefined;
    } catch (error) {
      const reason = reasonIn(error);
      if (reason === undefined) throw error;
      return reason;
    }
  }

  /** The caller whom the claims of a verified token name, or a refusal if the token is for another audience. */
  function resultFrom({ sub: subject, scopes, exp, audiences: named, audienceClaim }: Claims): AuthResult {
    // Checked here, since jsonwebtoken looks for the audience only in `aud`, and not in the claim that may stand in for it.
    if (!named.some((audience) => audiences.includes(audience)))
      return tokenInvalid(`The token's ${audienceClaim} claim does not name this service.`);
    return { ok: true, caller: { subject, scopes }, rememberUntilMs: exp * 1000 };
  }
}

/** The keys that may have signed a token, at least one, or why there are none. */
type FoundKeys = readonly TrustedKey[] | Refusal;
/** Finds the keys of a token by its header. */
type KeyFinder = (header: JsonObject) => FoundKeys | Promise<FoundKeys>;

function keyFinderFor(key: VerificationKey): KeyFinder {
  if (key.kind === 'secrets') return finderAmong(key.secrets.map(trustedSecret));
  if (key.kind === 'publicKey') return finderAmong([trustedKeyFromPem(key.pem)]);
  return (header) => key.keySet.find(header);
}

/** Finds, among a fixed set of keys, those that allow the token's `alg`. */
function finderAmong(keys: readonly TrustedKey[]): KeyFinder {
  if (keys.length === 0) throw new Error('There is no secret.');
  return ({ alg }) => {
    const allowed = keys.filter(({ algorithms }) => algorithms.some((algorithm) => algorithm === alg));
    return allowed.length > 0 ? allowed : tokenInvalid(ALGORITHM_NOT_ALLOWED_MESSAGE);
  };
}

/**
 * Why jsonwebtoken has refused a token, as a sentence without the library's words, some of which name the expected issuer.
 * Undefined for any other error: all else that a token may have wrong was checked before, so the service is at fault.
 */
function reasonIn(error: unknown): string | undefined {
  if (error instanceof jsonwebtoken.TokenExpiredError) return 'The token has expired.';
  if (error instanceof jsonwebtoken.NotBeforeError) return 'The token is not valid yet.';
  if (!(error instanceof jsonwebtoken.JsonWebTokenError)) return undefined;

  // The library's other errors differ only in their messages, which its documentation lists.
  const { message } = error;
  if (message === 'invalid signature') return WRONG_SIGNATURE;
  if (message === 'jwt signature is required') return 'The token has no signature.';
  if (message.startsWith('jwt issuer invalid')) return "The token's iss claim is not the expected issuer.";
  return undefined;
}
