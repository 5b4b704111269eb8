import { type Refusal, tokenInvalid, tokenMissing } from './auth-result.js';

/** The longest token, in bytes. Real tokens have one to two thousand bytes; longer ones are not parsed. */
const TOKEN_MAX_BYTES = 8192;

/** The scheme Bearer in any case (RFC 9110, section 11.1), and everything after the spaces that follow it. */
const BEARER = /^bearer(?: +(?<token>.*))?$/is;
/**
 * A bearer credential has no comma: a comma means that several values were joined into a list (RFC 9110,
 * section 5.3).
 */
const LIST = /^bearer .*,|, *bearer(?: |$)/is;
/** RFC 6750, section 2.1. */
const B64TOKEN = /^[A-Za-z0-9\-._~+/]+=*$/;

/**
 * The token in a request's `authorization` values, of which there must be exactly one (RFC 9110, section
 * 5.3). A value with another scheme counts as no token: it was not meant for this service.
 */
export function readBearerToken(authorization: readonly string[]): string | Refusal {
  const [value = '', ...more] = authorization;
  if (more.length > 0 || LIST.test(value)) return tokenInvalid('The authorization was given more than once.');
  const bearer = BEARER.exec(value);
  if (bearer === null) return tokenMissing();
  const token = bearer.groups?.['token'] ?? '';
  if (token.length > TOKEN_MAX_BYTES)
    return tokenInvalid(`The token is longer than ${TOKEN_MAX_BYTES} bytes.`);
  return B64TOKEN.test(token) ? token : tokenInvalid('The bearer token is malformed.');
}
