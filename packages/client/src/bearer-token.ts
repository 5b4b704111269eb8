/**
 * A token, or a function that returns one. The function runs before each call, so it should cache its token until
 * shortly before the token expires. After `UNAUTHENTICATED`, the function runs once more, with the refused token; the
 * call is retried if the function returns another token.
 */
export type TokenSource = string | ((refused?: string) => string | Promise<string>);

/** The longest token that the service takes; a token too long for a header of HTTP/2 would not even reach it. */
const MAX_LENGTH = 8_192;
/** RFC 6750 section 2.1. */
const BEARER_TOKEN = /^[A-Za-z0-9\-._~+/]+=*$/;

/**
 * Gets the token for a call.
 *
 * @param refused the token that the service has just refused, if it was for this call
 * @throws Error when the function fails, or its result is not a bearer token of up to 8,192 characters
 */
export async function tokenFrom(source: TokenSource, refused?: string): Promise<string> {
  const token: unknown = typeof source === 'string' ? source : await source(refused);
  // The messages contain no part of the token, which is a secret even if malformed.
  if (typeof token === 'string' && token.length > MAX_LENGTH)
    throw new Error(`It has ${token.length} characters; the service takes at most ${MAX_LENGTH}.`);
  if (typeof token !== 'string' || !BEARER_TOKEN.test(token))
    throw new Error('It is not a bearer token (RFC 6750): letters, digits and -._~+/ with = at the end.');
  return token;
}
