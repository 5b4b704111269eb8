import { describe, expect, it } from 'vitest';
import { readBearerToken } from '../../src/auth/bearer-token.js';
import { invalid, judge, signed } from './secret-authenticator.js';
import { CLAIMS, compact, type Part } from './sign-jwt.js';

describe('a bearer token', () => {
  it.each([
    ['the scheme as RFC 6750 writes it', 'Bearer abc.def.ghi'],
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
    ['only spaces after the scheme', 'Bearer   '],
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
    ['the token alone, in quotation marks', '"abc.def.ghi"', 'has no space'],
    ['a character other than a space after the scheme', 'Bearer?abc', 'has no space'],
    ['a tab after the scheme', 'Bearer\tabc', 'has no space'],
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
    expect(readBearerToken(value)).toEqual(
      invalid('The authorization says Bearer twice; it must be the word Bearer, a space and the token.'),
    );
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
    expect(readBearerToken(value)).toEqual(
      invalid(
        'The token has a character that no bearer token has there, such as a space or a quotation mark.',
      ),
    );
  });

  it.each([
    ['both bearer', 'Bearer abc, Bearer def'],
    ['the second of another scheme', 'Bearer abc,Basic YTpi'],
    ['the second empty', 'Bearer abc,'],
    ['the first of another scheme', 'Basic YTpi, bearer abc'],
    ['both of 8,000 bytes', `Bearer ${'a'.repeat(8000)}, Bearer ${'a'.repeat(8000)}`],
  ])('is refused when two authorizations were joined: %s', (_, value) => {
    expect(readBearerToken(value)).toEqual(invalid('The authorization was given more than once.'));
  });

  it('may have 8192 bytes but no more', () => {
    const longest = 'a'.repeat(8192);
    expect(readBearerToken(`Bearer ${longest}`)).toBe(longest);
    expect(readBearerToken(`Bearer ${longest}a`)).toEqual(invalid('The token is longer than 8192 bytes.'));
  });
});

const HS256 = { alg: 'HS256' } as const;
const UNSIGNED = compact(HS256, CLAIMS);

describe('a token is refused unless it has three parts in base64url:', () => {
  it.each([
    ['one part', 'abc'],
    ['two parts', UNSIGNED.split('.').slice(0, 2).join('.')],
    ['four parts', `${signed()}.abc`],
    ['a fourth part that is not base64url', `${signed()}.a`],
    ['a trailing dot', `${signed()}.`],
    ['five parts, as in an encrypted token', `${signed()}.abc.def`],
    ['padding', `${signed()}=`],
    ['the standard base64 alphabet', compact(HS256, CLAIMS, Buffer.from('????>>>>')).replaceAll('_', '/')],
    ['a length that is impossible in base64url', `${UNSIGNED}a`],
    ['nonzero bits after the last byte', `${UNSIGNED}AB`],
  ])('%s', async (_, token) => {
    expect(await judge(token)).toEqual(
      invalid('The token is not a JWT: three parts in base64url, joined by dots.'),
    );
  });
});

describe.each<[string, (part: Part) => string]>([
  ['header', (part) => compact(part, CLAIMS)],
  ['payload', (part) => signed(part)],
])('a token is refused unless its %s is a JSON object in UTF-8:', (name, withPart) => {
  it.each<[string, Part]>([
    ['empty', Buffer.alloc(0)],
    ['not JSON', Buffer.from('{alg:HS256}')],
    ['text after the object', Buffer.from('{}{}')],
    ['null', null],
    ['a number', 5],
    ['an array', [CLAIMS]],
    ['a string that holds the JSON of an object', JSON.stringify(CLAIMS)],
    ['invalid UTF-8', Buffer.concat([Buffer.from('{"a":"'), Buffer.from([0xff]), Buffer.from('"}')])],
    ['a byte order mark', Buffer.from(`\ufeff${JSON.stringify(CLAIMS)}`)],
  ])('%s', async (_, part) => {
    expect(await judge(withPart(part))).toEqual(
      invalid(`The token's ${name} is not a JSON object in UTF-8.`),
    );
  });
});

describe('a token is refused when its header uses an extension:', () => {
  it.each([
    ['crit', { ...HS256, crit: ['exp'], exp: CLAIMS.exp }],
    ['an empty crit', { ...HS256, crit: [] }],
    ['a null crit', { ...HS256, crit: null }],
    ['an unencoded payload', { ...HS256, b64: false, crit: ['b64'] }],
    ['an unencoded payload without crit', { ...HS256, b64: false }],
    ['b64 with its default value', { ...HS256, b64: true }],
  ])('%s', async (_, header) => {
    expect(await judge(signed(CLAIMS, header))).toEqual(
      invalid("The token's header asks for an extension that is not supported."),
    );
  });
});

describe('a token is accepted with', () => {
  it.each([
    ['no typ', HS256],
    ['typ JWT', { ...HS256, typ: 'JWT' }],
    ['typ at+jwt (RFC 9068)', { ...HS256, typ: 'at+jwt' }],
    ['a non-ASCII kid', { ...HS256, kid: 'ключ 🗝' }],
    ['an unknown header parameter', { ...HS256, colour: 'blue' }],
  ])('%s', async (_, header) => {
    expect(await judge(signed(CLAIMS, header))).toMatchObject({ ok: true });
  });
});
