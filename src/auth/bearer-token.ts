import { type Refusal, tokenInvalid } from './auth-result.js';

/** The longest token that is parsed, in bytes. Real tokens have one to two thousand bytes. */
const TOKEN_MAX_BYTES = 8192;

/** The scheme Bearer in any case (RFC 9110, section 11.1), and everything after the spaces that follow it. */
const BEARER = /^bearer(?: +|$)(?<token>.*)$/is;
/**
 * Several values that the gateway joined into a list (RFC 9110, section 5.3), at least one of them with the scheme Bearer.
 * The expression has two alternatives:
 *
 * - The first value has the scheme, and a comma follows: no bearer credential has a comma of its own.
 * - A later value has the scheme.
 */
const SEVERAL_VALUES = /^bearer .*,|, *bearer(?: |$)/is;
/** The characters of a bearer token (RFC 6750, section 2.1). */
const B64TOKEN = /^[A-Za-z0-9\-._~+/]+=*$/;
/** What follows the scheme begins with the scheme again, with or without a token. No token contains a space. */
const SECOND_SCHEME = /^bearer(?: |$)/i;

const NOTHING_SENT =
  'No bearer token was given: the authorization is missing, or has no token after the word Bearer.';
/** The end of a message: what `authorization` must be. */
const EXPECTED_FORM = 'it must be the word Bearer, a space and the token.';

/**
 * Reads the token from a request's `authorization`; empty if there is none. A value with another scheme counts as a
 * missing token, since it was not meant for this service. So does a bare scheme: Node's HTTP/2 leaves out a header whose
 * value ends with a space, so that `Bearer ` comes as no value at all.
 */
export function readBearerToken(value: string): string | Refusal {
  if (SEVERAL_VALUES.test(value)) return tokenInvalid('The authorization was given more than once.');
  if (value === '') return tokenMissing(NOTHING_SENT);
  const token = BEARER.exec(value)?.groups?.['token'];
  if (token === undefined) return tokenMissing(problemOfOtherScheme(value));
  if (token === '') return tokenMissing(NOTHING_SENT);
  if (SECOND_SCHEME.test(token)) return tokenInvalid(`The authorization says Bearer twice; ${EXPECTED_FORM}`);
  // Characters are counted, since all of those that a token may have take one byte; others are refused below.
  if (token.length > TOKEN_MAX_BYTES)
    return tokenInvalid(`The token is longer than ${TOKEN_MAX_BYTES} bytes.`);
  if (B64TOKEN.test(token)) return token;
  return tokenInvalid(
    'The token has a character that no bearer token has there, such as a space or a quotation mark.',
  );
}

/** A refusal for a missing token. @param message says that nothing was sent, or what was sent instead */
function tokenMissing(message: string): Refusal {
  return { ok: false, reason: 'TOKEN_MISSING', message };
}

/** Says what is wrong with a value without the scheme Bearer. Does not quote it: any word of it may be a token. */
function problemOfOtherScheme(value: string): string {
  if (B64TOKEN.test(value)) return `The authorization is a single word; ${EXPECTED_FORM}`;
  if (!value.includes(' ')) return `The authorization has no space; ${EXPECTED_FORM}`;
  return `The authorization has another scheme than Bearer; ${EXPECTED_FORM}`;
}
