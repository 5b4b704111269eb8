import { isUtf8 } from 'node:buffer';
import { type Refusal, tokenInvalid } from './auth-result.js';

const NOT_A_JWT = 'The token is not a JWT: three parts in base64url, joined by dots.';

/** A JSON object whose members have not been checked. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** A parsed token. Nothing in it can be trusted before its signature is verified. */
interface CompactJwt {
  /** JOSE header (RFC 7515, section 4), without extensions that would change the token's meaning. */
  readonly header: JsonObject;
  /** JWT Claims Set (RFC 7519, section 4). */
  readonly payload: JsonObject;
  /** The length of the signature, in bytes. The signature itself is verified from the token's text. */
  readonly signatureBytes: number;
}

/**
 * Parses a signed JWT in compact serialization (RFC 7519, section 7.2, steps 1 to 10, except that the signature is not
 * validated, step 7).
 */
export function parseCompactJwt(token: string): CompactJwt | Refusal {
  // Three parts are right; a fourth tells that there are too many. A token of dots alone would otherwise give thousands.
  const parts = token.split('.', 4);
  if (parts.length !== 3) return tokenInvalid(NOT_A_JWT);
  const [headerBytes, payloadBytes, signature] = parts.map(decodeBase64url);
  // An empty signature passes here, and is refused when it is verified.
  if (headerBytes === undefined || payloadBytes === undefined || signature === undefined)
    return tokenInvalid(NOT_A_JWT);

  const header = parseJsonObject(headerBytes);
  if (header === undefined) return tokenInvalid("The token's header is not a JSON object in UTF-8.");
  const payload = parseJsonObject(payloadBytes);
  if (payload === undefined) return tokenInvalid("The token's payload is not a JSON object in UTF-8.");

  // No extension is supported: neither those that the header parameter `crit` lists (RFC 7515, section 4.1.11), nor `b64`,
  // which makes the payload plain text (RFC 7797).
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
