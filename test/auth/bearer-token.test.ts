import { describe, expect, it } from 'vitest';
import { readBearerToken } from '../../src/auth/token.js';

describe('a bearer token', () => {
  it.each([
    ['the scheme as RFC 6750 writes it', 'Bearer abc.def.ghi'],
    ['the scheme in lower case', 'bearer abc.def.ghi'],
    ['the scheme in upper case', 'BEARER abc.def.ghi'],
    ['several spaces after the scheme', 'Bearer    abc.def.ghi'],
  ])('is accepted with %s', (_, value) => {
    expect(readBearerToken(value)).toBe('abc.def.ghi');
  });

  it('may hold every character of a b64token', () => {
    expect(readBearerToken('Bearer aZ09-._~+/==')).toBe('aZ09-._~+/==');
  });

  it.each([
    ['no value', ''],
    ['the scheme alone', 'Bearer'],
    ['only spaces after the scheme', 'Bearer   '],
    ['a character other than a space after the scheme', 'Bearer?abc'],
    ['a tab after the scheme', 'Bearer\tabc'],
  ])('counts as missing with %s', (_, value) => {
    expect(readBearerToken(value)).toEqual({
      ok: false,
      reason: 'TOKEN_MISSING',
      message:
        'No bearer token was given: the authorization is missing, or has no token after the word Bearer.',
    });
  });

  it.each([
    ['the token alone', 'abc.def.ghi', 'is a single word'],
    ['another scheme', 'Basic YTpi', 'has another scheme than Bearer'],
    ['another scheme alone', 'Negotiate', 'is a single word'],
    ['several other schemes', 'Basic YTpi, Digest realm="x"', 'has another scheme than Bearer'],
    ['a scheme that only begins with Bearer', 'Bearertoken abc', 'has another scheme than Bearer'],
    ['a scheme that only ends with Bearer', 'XBearer abc', 'has another scheme than Bearer'],
    ['the token first', 'abc.def.ghi Bearer', 'has another scheme than Bearer'],
  ])('counts as missing with %s, and the message says so without quoting it', (_, value, came) => {
    expect(readBearerToken(value)).toEqual({
      ok: false,
      reason: 'TOKEN_MISSING',
      message: `The authorization ${came}; it must be the word Bearer, a space and the token.`,
    });
  });

  it.each([
    ['the scheme twice', 'Bearer Bearer abc'],
    ['the scheme twice, in different case', 'bearer  BEARER abc'],
    ['the scheme twice and no token', 'Bearer Bearer'],
  ])('is invalid with %s, and the message says so', (_, value) => {
    expect(readBearerToken(value)).toEqual({
      ok: false,
      reason: 'TOKEN_INVALID',
      message: 'The authorization says Bearer twice; it must be the word Bearer, a space and the token.',
    });
  });

  it.each([
    ['a space inside', 'Bearer abc def'],
    ['a trailing space', 'Bearer abc '],
    ['quotation marks around it', 'Bearer "abc"'],
    ['an equals sign inside', 'Bearer a=b'],
    ['percent-encoding', 'Bearer abc%2Edef'],
    ['a line break', 'Bearer abc\ndef'],
    ['a non-ASCII character', 'Bearer äbc'],
  ])('is malformed with %s', (_, value) => {
    expect(readBearerToken(value)).toEqual({
      ok: false,
      reason: 'TOKEN_INVALID',
      message:
        'The token has a character that no bearer token has there, such as a space or a quotation mark.',
    });
  });

  it.each([
    ['both bearer', 'Bearer abc, Bearer def'],
    ['the second of another scheme', 'Bearer abc,Basic YTpi'],
    ['the second empty', 'Bearer abc,'],
    ['the first of another scheme', 'Basic YTpi, bearer abc'],
    ['both of 8,000 bytes', `Bearer ${'a'.repeat(8000)}, Bearer ${'a'.repeat(8000)}`],
  ])('is refused when two authorizations were joined: %s', (_, value) => {
    expect(readBearerToken(value)).toEqual({
      ok: false,
      reason: 'TOKEN_INVALID',
      message: 'The authorization was given more than once.',
    });
  });

  it('may have 8192 bytes but no more', () => {
    const longest = 'a'.repeat(8192);
    expect(readBearerToken(`Bearer ${longest}`)).toBe(longest);
    expect(readBearerToken(`Bearer ${longest}a`)).toEqual({
      ok: false,
      reason: 'TOKEN_INVALID',
      message: 'The token is longer than 8192 bytes.',
    });
  });
});
