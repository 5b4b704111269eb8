import { describe, expect, it } from 'vitest';
import { readBearerToken } from '../../src/auth/bearer-token.js';

describe('a bearer token', () => {
  it.each([
    ['the scheme as RFC 6750 writes it', 'Bearer abc.def.ghi'],
    ['the scheme in lower case', 'bearer abc.def.ghi'],
    ['the scheme in upper case', 'BEARER abc.def.ghi'],
    ['several spaces after the scheme', 'Bearer    abc.def.ghi'],
  ])('is taken with %s', (_, value) => {
    expect(readBearerToken([value])).toBe('abc.def.ghi');
  });

  it('may hold every character of a b64token', () => {
    expect(readBearerToken(['Bearer aZ09-._~+/=='])).toBe('aZ09-._~+/==');
  });

  it.each([
    ['no value', []],
    ['an empty value', ['']],
    ['another scheme', ['Basic YTpi']],
    ['several other schemes', ['Basic YTpi, Digest realm="x"']],
    ['a scheme that only begins with Bearer', ['Bearertoken abc']],
    ['a scheme that only ends with Bearer', ['XBearer abc']],
  ])('is missing with %s', (_, values) => {
    expect(readBearerToken(values)).toEqual({
      ok: false,
      reason: 'TOKEN_MISSING',
      message: 'No bearer token was given.',
    });
  });

  it.each([
    ['the scheme alone', 'Bearer'],
    ['only spaces after the scheme', 'Bearer   '],
    ['a space inside', 'Bearer abc def'],
    ['a trailing space', 'Bearer abc '],
    ['quotes round it', 'Bearer "abc"'],
    ['an equals sign inside', 'Bearer a=b'],
    ['a line break', 'Bearer abc\ndef'],
    ['a character that is not ASCII', 'Bearer äbc'],
  ])('is malformed with %s', (_, value) => {
    expect(readBearerToken([value])).toEqual({
      ok: false,
      reason: 'TOKEN_INVALID',
      message: 'The bearer token is malformed.',
    });
  });

  it.each([
    ['equal', ['Bearer abc', 'Bearer abc']],
    ['different', ['Bearer abc', 'Bearer def']],
    ['of different schemes', ['Basic YTpi', 'Bearer abc']],
    ['joined to one value', ['Bearer abc, Bearer def']],
    ['joined, the second of another scheme', ['Bearer abc,Basic YTpi']],
    ['joined, the first of another scheme', ['Basic YTpi, bearer abc']],
    ['joined, and longer than a token may be', [`Bearer ${'a'.repeat(8000)}, Bearer ${'a'.repeat(8000)}`]],
  ])('is refused when there are two authorizations, %s', (_, values) => {
    expect(readBearerToken(values)).toEqual({
      ok: false,
      reason: 'TOKEN_INVALID',
      message: 'The authorization was given more than once.',
    });
  });

  it('may have 8192 bytes and not one more', () => {
    const longest = 'a'.repeat(8192);
    expect(readBearerToken([`Bearer ${longest}`])).toBe(longest);
    expect(readBearerToken([`Bearer ${longest}a`])).toEqual({
      ok: false,
      reason: 'TOKEN_INVALID',
      message: 'The token is longer than 8192 bytes.',
    });
  });
});
