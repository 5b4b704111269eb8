import { describe, expect, it } from 'vitest';
import { judge, signed } from './secret-authenticator.js';
import { AUDIENCE, CLAIMS, NOW } from './sign-jwt.js';

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
