import { isUtf8 } from 'node:buffer';

/** The caller, as identified by a verified token. */
export interface Caller {
  /** The token's `sub`: 1 to 255 characters, no control characters. The trusted issuers mean the same caller by it. */
  readonly subject: string;
  /** The caller's permissions: the scopes of all claims that hold some. */
  readonly scopes: ReadonlySet<string>;
}

/** Why the caller is refused. */
export interface Refusal {
  readonly ok: false;
  /**
   * - `TOKEN_MISSING`: the request has no credential, or a credential that is not a bearer token.
   * - `TOKEN_INVALID`: the bearer token is malformed, cannot be verified or is not valid at this time.
   * - `KEYS_UNAVAILABLE`: the keys cannot be fetched, so the token cannot be verified now; a retry may succeed.
   */
  readonly reason: 'TOKEN_MISSING' | 'TOKEN_INVALID' | 'KEYS_UNAVAILABLE';
  /** A fixed sentence for the client. It never quotes the token. */
  readonly message: string;
  /** Why the keys cannot be fetched; for the log only. */
  readonly cause?: unknown;
}

/** The outcome of checking a request's credential. */
export type AuthResult =
  | {
      readonly ok: true;
      readonly caller: Caller;
      /** Until when this result may be cached, in milliseconds since the epoch: the token's `exp`, without tolerance. */
      readonly rememberUntilMs: number;
    }
  | Refusal;

/** A refusal for a missing token. @param message says what was sent instead; default: nothing was */
function tokenMissing(
  message = 'No bearer token was given: the authorization is missing, or has no token after the word Bearer.',
): Refusal {
  return { ok: false, reason: 'TOKEN_MISSING', message };
}

/** A refusal of an invalid token. It has no `cause`, since library errors may quote parts of the token. */
export function tokenInvalid(message: string): Refusal {
  return { ok: false, reason: 'TOKEN_INVALID', message };
}

/** The longest token that is parsed, in bytes. Real tokens have one to two thousand bytes. */
const TOKEN_MAX_BYTES = 8192;

/** The scheme Bearer in any case (RFC 9110, section 11.1), and everything after the spaces that follow it. */
const BEARER = /^bearer(?: +|$)(?<token>.*)$/is;
/** Several values that the gateway joined into a list (RFC 9110, section 5.3); a bearer credential has no comma. */
const LIST = /^bearer .*,|, *bearer(?: |$)/is;
/** RFC 6750, section 2.1. */
const B64TOKEN = /^[A-Za-z0-9\-._~+/]+=*$/;

/** A second scheme, with or without a token. No token contains a space. */
const SECOND_SCHEME = /^bearer(?: |$)/i;
/** The end of a message: what `authorization` must be. */
const WANTED = 'it must be the word Bearer, a space and the token.';

/**
 * Reads the token from a request's `authorization`. A value with another scheme counts as a missing token, since it was
 * not meant for this service. So does an empty value or a bare scheme: Node's HTTP/2 drops a value that ends with a
 * space, so these cannot be told apart.
 */
export function readBearerToken(value: string): string | Refusal {
  if (LIST.test(value)) return tokenInvalid('The authorization was given more than once.');
  const token = BEARER.exec(value)?.groups?.['token'];
  if (token === undefined) return tokenMissing(problemOfForeign(value));
  if (token === '') return tokenMissing();
  if (SECOND_SCHEME.test(token)) return tokenInvalid(`The authorization says Bearer twice; ${WANTED}`);
  if (token.length > TOKEN_MAX_BYTES)
    return tokenInvalid(`The token is longer than ${TOKEN_MAX_BYTES} bytes.`);
  if (B64TOKEN.test(token)) return token;
  return tokenInvalid(
    'The token has a character that no bearer token has there, such as a space or a quotation mark.',
  );
}

/** Says what is wrong with a value without the scheme, and does not quote it: any word of it may be a token. */
function problemOfForeign(value: string): string | undefined {
  if (B64TOKEN.test(value)) return `The authorization is a single word; ${WANTED}`;
  return value.includes(' ') ? `The authorization has another scheme than Bearer; ${WANTED}` : undefined;
}

/** A JSON object whose members have not been checked. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** A parsed token. Nothing in it can be trusted before its signature is verified. */
interface CompactJwt {
  /** JOSE header (RFC 7515, section 4), without extensions that would change the token's meaning. */
  readonly header: JsonObject;
  /** JWT Claims Set (RFC 7519, section 4). */
  readonly payload: JsonObject;
  /** The length of the signature, in bytes. */
  readonly signatureBytes: number;
}

/** Parses a signed JWT in compact serialization (RFC 7519, section 7.2, steps 1 to 10). */
export function parseCompactJwt(token: string): CompactJwt | Refusal {
  // Splits off at most one part too many: a token that is all dots has thousands of parts.
  const parts = token.split('.', 4);
  const [headerBytes, payloadBytes, signature] = parts.length === 3 ? parts.map(decodeBase64url) : [];
  if (!headerBytes || !payloadBytes || !signature)
    return tokenInvalid('The token is not a JWT: three parts in base64url, joined by dots.');
  const header = parseJsonObject(headerBytes);
  if (header === undefined) return tokenInvalid("The token's header is not a JSON object in UTF-8.");
  const payload = parseJsonObject(payloadBytes);
  if (payload === undefined) return tokenInvalid("The token's payload is not a JSON object in UTF-8.");
  // No extension is supported: neither those in crit (RFC 7515, section 4.1.11) nor b64 (RFC 7797).
  if ('crit' in header || 'b64' in header)
    return tokenInvalid("The token's header asks for an extension that is not supported.");
  return { header, payload, signatureBytes: signature.length };
}

/** Decodes unpadded base64url; undefined for malformed text, which Node would decode anyway. */
function decodeBase64url(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64url');
  return bytes.toString('base64url') === text ? bytes : undefined;
}

function parseJsonObject(bytes: Buffer): JsonObject | undefined {
  if (!isUtf8(bytes)) return undefined;
  try {
    const value: unknown = JSON.parse(bytes.toString());
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
