import { describe, expect, it } from 'vitest';
import { readBearerToken } from '../../src/auth/token.js';
import { judge, signed } from './secret-authenticator.js';
import { AUDIENCE, CLAIMS, compact, NOW } from './sign-jwt.js';

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

const HS256 = { alg: 'HS256' } as const;
const UNSIGNED = compact(HS256, CLAIMS);
const BROKEN_UTF8 = Buffer.concat([
  Buffer.from(JSON.stringify(CLAIMS).slice(0, -1)),
  Buffer.from(',"name":"'),
  Buffer.from([0xff]),
  Buffer.from('"}'),
]);
const WITH_BOM = Buffer.from(`\ufeff${JSON.stringify(CLAIMS)}`);

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
  ])('%s', (_, token) => {
    expect(judge(token)).toEqual({
      ok: false,
      reason: 'TOKEN_INVALID',
      message: 'The token is not a JWT: three parts in base64url, joined by dots.',
    });
  });
});

describe('a token is refused unless its header is a JSON object in UTF-8:', () => {
  it.each([
    ['empty', Buffer.alloc(0)],
    ['not JSON', Buffer.from('{alg:HS256}')],
    ['null', null],
    ['a string', 'HS256'],
    ['an array', [HS256]],
    ['invalid UTF-8', Buffer.from([...Buffer.from('{"alg":"HS256","kid":"'), 0xc3, ...Buffer.from('"}')])],
  ])('%s', (_, header) => {
    expect(judge(compact(header, CLAIMS))).toEqual({
      ok: false,
      reason: 'TOKEN_INVALID',
      message: "The token's header is not a JSON object in UTF-8.",
    });
  });
});

describe('a token is refused unless its payload is a JSON object in UTF-8:', () => {
  it.each([
    ['empty', Buffer.alloc(0)],
    ['not JSON', Buffer.from('{"sub":')],
    ['text after the object', Buffer.from('{}{}')],
    ['null', null],
    ['a number', 5],
    ['a string', 'alice'],
    ['an array', [CLAIMS]],
    ['a string that holds the JSON of an object', JSON.stringify(CLAIMS)],
    ['invalid UTF-8', BROKEN_UTF8],
    ['a byte order mark', WITH_BOM],
  ])('%s', (_, payload) => {
    expect(judge(signed(payload))).toEqual({
      ok: false,
      reason: 'TOKEN_INVALID',
      message: "The token's payload is not a JSON object in UTF-8.",
    });
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
  ])('%s', (_, header) => {
    expect(judge(signed(CLAIMS, header))).toEqual({
      ok: false,
      reason: 'TOKEN_INVALID',
      message: "The token's header asks for an extension that is not supported.",
    });
  });
});

describe('a token is accepted with', () => {
  it.each([
    ['no typ', HS256],
    ['typ JWT', { ...HS256, typ: 'JWT' }],
    ['typ at+jwt (RFC 9068)', { ...HS256, typ: 'at+jwt' }],
    ['a non-ASCII kid', { ...HS256, kid: 'ключ 🗝' }],
    ['an unknown header parameter', { ...HS256, colour: 'blue' }],
  ])('%s', (_, header) => {
    expect(judge(signed(CLAIMS, header))).toMatchObject({ ok: true });
  });
});

const withClaims = (claims: object): string => signed({ ...CLAIMS, ...claims });
/** Takes a claim as JSON text, for what JSON.stringify cannot write. */
const withRawClaim = (claim: string): string =>
  signed(Buffer.from(`${JSON.stringify(CLAIMS).slice(0, -1)},${claim}}`));

describe('a required claim', () => {
  it.each(['iss', 'aud', 'sub', 'exp'])('is named when it is missing: %s', (name) => {
    expect(judge(withClaims({ [name]: undefined }))).toEqual({
      ok: false,
      reason: 'TOKEN_INVALID',
      message: `The token has no ${name} claim.`,
    });
  });

  it('is not read from __proto__', () => {
    const { sub, ...rest } = CLAIMS;
    const payload = `${JSON.stringify(rest).slice(0, -1)},"__proto__":{"sub":"${sub}"}}`;
    expect(judge(signed(Buffer.from(payload)))).toMatchObject({ message: 'The token has no sub claim.' });
  });
});

describe('a token is refused for an invalid claim, which the message names:', () => {
  const STRINGS = 'a string or an array of strings';
  const SUBJECT = 'a string of 1 to 255 characters without control characters';
  it.each([
    ['iss', 'null', null, 'a string'],
    ['iss', 'a list with the right issuer', [CLAIMS.iss], 'a string'],
    ['aud', 'null', null, STRINGS],
    ['aud', 'an object', { [AUDIENCE]: true }, STRINGS],
    ['aud', 'a list in a list', [[AUDIENCE]], STRINGS],
    ['aud', 'a list with the right audience and a number', [AUDIENCE, 5], STRINGS],
    ['sub', 'null', null, SUBJECT],
    ['sub', 'a number', 5, SUBJECT],
    ['sub', 'empty', '', SUBJECT],
    ['sub', '256 characters', 'a'.repeat(256), SUBJECT],
    ['sub', 'a lone surrogate', 'a\ud800', SUBJECT],
    ['sub', 'NUL', 'a\0b', SUBJECT],
    ['sub', 'a line break', 'a\nb', SUBJECT],
    ['exp', 'null', null, 'a NumericDate'],
    ['exp', 'a number as a string', String(CLAIMS.exp), 'a NumericDate'],
    ['exp', 'a list', [CLAIMS.exp], 'a NumericDate'],
    ['exp', 'a time beyond the range of Date', 8.64e12 + 1, 'a NumericDate'],
    ['nbf', 'null', null, 'a NumericDate'],
    ['nbf', 'a number as a string', '0', 'a NumericDate'],
    ['scope', 'null', null, 'a string'],
    ['scope', 'a list', ['routes:read'], 'a string'],
    ['scp', 'null', null, STRINGS],
    ['scp', 'a list with a number', ['routes:read', 5], STRINGS],
    ['scp', 'an object', { 'routes:read': true }, STRINGS],
  ])('%s: %s', (name, _, value, wanted) => {
    expect(judge(withClaims({ [name]: value }))).toEqual({
      ok: false,
      reason: 'TOKEN_INVALID',
      message: `The token's ${name} claim is not ${wanted}.`,
    });
  });

  it('exp: a number that no double can hold', () => {
    expect(judge(withRawClaim('"exp":1e999'))).toMatchObject({
      message: "The token's exp claim is not a NumericDate.",
    });
  });
});

describe('the subject', () => {
  it.each([
    ['255 characters', 'a'.repeat(255)],
    ['255 characters of four bytes', '🗝'.repeat(255)],
    ['a space', ' '],
    ['a URL', 'https://issuer.test/users/7?a=b#c'],
  ])('may be %s', (_, sub) => {
    expect(judge(withClaims({ sub }))).toMatchObject({ ok: true, caller: { subject: sub } });
  });

  it('is the last one when the token has two', () => {
    expect(judge(withRawClaim('"sub":"bob"'))).toMatchObject({ caller: { subject: 'bob' } });
  });
});

describe('the scopes', () => {
  it.each([
    ['none without scope and scp', {}, []],
    ['none with an empty scope', { scope: '' }, []],
    ['none with an empty list', { scp: [] }, []],
    [
      'those of scope, separated by spaces',
      { scope: 'routes:read routes:write' },
      ['routes:read', 'routes:write'],
    ],
    ['those of scope, with any number of spaces', { scope: ' routes:read   x ' }, ['routes:read', 'x']],
    ['not split at other white space', { scope: 'routes:read\troutes:write' }, ['routes:read\troutes:write']],
    ['those of scp as a list', { scp: ['routes:read', 'routes:write'] }, ['routes:read', 'routes:write']],
    ['those of scp as a string', { scp: 'routes:read routes:write' }, ['routes:read', 'routes:write']],
    ['those of scope and scp together', { scope: 'a b', scp: ['b', 'c'] }, ['a', 'b', 'c']],
    ['not split inside a list', { scp: ['routes:read routes:write'] }, ['routes:read routes:write']],
    ['case-sensitive', { scope: 'Routes:Read' }, ['Routes:Read']],
  ])('are %s', (_, claims, scopes) => {
    expect(judge(withClaims(claims))).toMatchObject({ ok: true, caller: { scopes: new Set(scopes) } });
  });
});

describe('the iss and aud claims', () => {
  it.each([
    ['the audience in a list', { aud: ['others.test', AUDIENCE] }],
    ['the audience alone in a list', { aud: [AUDIENCE] }],
  ])('are accepted with %s', (_, claims) => {
    expect(judge(withClaims(claims))).toMatchObject({ ok: true });
  });

  it.each([
    ['another issuer', { iss: 'https://other.test' }, "The token's iss claim is not the expected issuer."],
    [
      'a slash after the issuer',
      { iss: `${CLAIMS.iss}/` },
      "The token's iss claim is not the expected issuer.",
    ],
    ['another audience', { aud: 'others.test' }, "The token's aud claim does not name this service."],
    [
      'an audience in upper case',
      { aud: 'ROUTES.TEST' },
      "The token's aud claim does not name this service.",
    ],
    ['only other audiences', { aud: ['a', 'b'] }, "The token's aud claim does not name this service."],
    [
      'more text after the audience',
      { aud: `${AUDIENCE},other` },
      "The token's aud claim does not name this service.",
    ],
    ['an empty issuer', { iss: '' }, "The token's iss claim is not the expected issuer."],
    ['an empty list of audiences', { aud: [] }, "The token's aud claim does not name this service."],
  ])('are refused with %s', (_, claims, message) => {
    expect(judge(withClaims(claims))).toEqual({
      ok: false,
      reason: 'TOKEN_INVALID',
      message,
    });
  });
});

describe('a token, with a tolerance of 5 seconds,', () => {
  it.each([
    ['expired 4 s ago', { exp: NOW - 4 }],
    ['expired 4.9 s ago', { exp: NOW - 4.9 }],
    ['valid from now on', { nbf: NOW }],
    ['valid in 5 s', { nbf: NOW + 5 }],
  ])('is accepted when %s', (_, claims) => {
    expect(judge(withClaims(claims))).toMatchObject({ ok: true });
  });

  it.each([
    ['expired 5 s ago', { exp: NOW - 5 }, 'The token has expired.'],
    ['expired 6 s ago', { exp: NOW - 6 }, 'The token has expired.'],
    ['expired before the epoch', { exp: -1 }, 'The token has expired.'],
    ['expired at zero', { exp: 0 }, 'The token has expired.'],
    ['valid in 6 s', { nbf: NOW + 6 }, 'The token is not valid yet.'],
    ['valid in 5.1 s', { nbf: NOW + 5.1 }, 'The token is not valid yet.'],
  ])('is refused when %s', (_, claims, message) => {
    expect(judge(withClaims(claims))).toMatchObject({ ok: false, reason: 'TOKEN_INVALID', message });
  });
});
