import { type Refusal, tokenInvalid, tokenMissing } from './auth-result.js';

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
  if (token === undefined) return tokenMissing(foreign(value));
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
function foreign(value: string): string | undefined {
  if (B64TOKEN.test(value)) return `The authorization is a single word; ${WANTED}`;
  return value.includes(' ') ? `The authorization has another scheme than Bearer; ${WANTED}` : undefined;
}
