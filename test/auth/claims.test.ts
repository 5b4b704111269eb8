import { describe, expect, it } from 'vitest';
import { createAuthenticator } from '../../src/auth/authenticator.js';
import { readTokens } from '../../src/settings/config.js';
import { invalid, judge, SECRET, signed } from './secret-authenticator.js';
import { ACCEPTED, AUDIENCE, CLAIMS, ISSUER, NOW } from './sign-jwt.js';

const withClaims = (claims: object): string => signed({ ...CLAIMS, ...claims });
/** Takes a claim as JSON text, for what JSON.stringify cannot write. */
const withRawClaim = (claim: string): string =>
  signed(Buffer.from(`${JSON.stringify(CLAIMS).slice(0, -1)},${claim}}`));

describe('a required claim', () => {
  it.each(['iss', 'aud', 'sub', 'exp'])('is named when it is missing: %s', async (name) => {
    expect(await judge(withClaims({ [name]: undefined }))).toEqual(
      invalid(`The token has no ${name} claim.`),
    );
  });

  it('is not read from __proto__', async () => {
    const { sub, ...rest } = CLAIMS;
    const payload = `${JSON.stringify(rest).slice(0, -1)},"__proto__":{"sub":"${sub}"}}`;
    expect(await judge(signed(Buffer.from(payload)))).toMatchObject({
      message: 'The token has no sub claim.',
    });
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
    ['scope', 'a number', 5, STRINGS],
    ['scope', 'a list with null', ['routes:read', null], STRINGS],
    ['scp', 'false', false, STRINGS],
    ['scp', 'a list with a number', ['routes:read', 5], STRINGS],
    ['scp', 'an object', { 'routes:read': true }, STRINGS],
  ])('%s: %s', async (name, _, value, wanted) => {
    expect(await judge(withClaims({ [name]: value }))).toEqual(
      invalid(`The token's ${name} claim is not ${wanted}.`),
    );
  });

  it('exp: a number that no double can hold', async () => {
    expect(await judge(withRawClaim('"exp":1e999'))).toMatchObject({
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
  ])('may be %s', async (_, sub) => {
    expect(await judge(withClaims({ sub }))).toMatchObject({ ok: true, caller: { subject: sub } });
  });

  it('is the last one when the token has two', async () => {
    expect(await judge(withRawClaim('"sub":"bob"'))).toMatchObject({ caller: { subject: 'bob' } });
  });
});

describe('the scopes', () => {
  it.each([
    ['none without scope and scp', {}, []],
    ['none with an empty list', { scp: [] }, []],
    ['those of scope, separated by any number of spaces', { scope: ' a   b ' }, ['a', 'b']],
    ['not split at other white space', { scope: 'routes:read\troutes:write' }, ['routes:read\troutes:write']],
    ['those of scp as a list', { scp: ['routes:read', 'routes:write'] }, ['routes:read', 'routes:write']],
    ['those of scope as a list', { scope: ['routes:read', 'routes:write'] }, ['routes:read', 'routes:write']],
    ['those of scope while scp is null', { scope: 'routes:read', scp: null }, ['routes:read']],
    ['none with null', { scope: null }, []],
    ['not those of other claims, whatever their type', { scope: 'a', roles: 'b', permissions: 5 }, ['a']],
    ['those of scope and scp together', { scope: 'a b', scp: ['b', 'c'] }, ['a', 'b', 'c']],
    ['not split inside a list', { scp: ['routes:read routes:write'] }, ['routes:read routes:write']],
  ])('are %s', async (_, claims, scopes) => {
    expect(await judge(withClaims(claims))).toMatchObject({ ok: true, caller: { scopes: new Set(scopes) } });
  });
});

describe('the iss and aud claims', () => {
  it.each([
    ['the audience in a list', { aud: ['others.test', AUDIENCE] }],
    ['the audience alone in a list', { aud: [AUDIENCE] }],
  ])('are accepted with %s', async (_, claims) => {
    expect(await judge(withClaims(claims))).toMatchObject({ ok: true });
  });

  const ISS = "The token's iss claim is not the expected issuer.";
  const AUD = "The token's aud claim does not name this service.";
  it.each([
    ['another issuer', { iss: 'https://other.test' }, ISS],
    ['a slash after the issuer', { iss: `${CLAIMS.iss}/` }, ISS],
    ['an empty issuer', { iss: '' }, ISS],
    ['another audience', { aud: 'others.test' }, AUD],
    ['an audience in upper case', { aud: 'ROUTES.TEST' }, AUD],
    ['only other audiences', { aud: ['a', 'b'] }, AUD],
    ['more text after the audience', { aud: `${AUDIENCE},other` }, AUD],
    ['an empty list of audiences', { aud: [] }, AUD],
  ])('are refused with %s', async (_, claims, message) => {
    expect(await judge(withClaims(claims))).toEqual({
      ok: false,
      reason: 'TOKEN_INVALID',
      message,
    });
  });
});

it.each([
  ['the first', ISSUER, { ok: true }],
  ['another', 'https://moved.test', { ok: true }],
  ['the list', `${ISSUER},https://moved.test`, { ok: false }],
  ['the beginning of one', 'https://moved', { ok: false }],
])('of several issuers, %s as iss is judged by exact comparison', async (_, iss, result) => {
  const issuers = [ISSUER, 'https://moved.test'];
  const key = { kind: 'secrets', secrets: [SECRET] } as const;
  const several = createAuthenticator({ ...ACCEPTED, issuers, key, now: () => NOW * 1000 });
  expect(await several.authenticate(`Bearer ${withClaims({ iss })}`)).toMatchObject(result);
});

describe('a token, with a tolerance of 5 seconds,', () => {
  it.each([
    ['expired 4.9 s ago', { exp: NOW - 4.9 }],
    ['valid in 5 s', { nbf: NOW + 5 }],
  ])('is accepted when %s', async (_, claims) => {
    expect(await judge(withClaims(claims))).toMatchObject({ ok: true });
  });

  it.each([
    ['expired 5 s ago', { exp: NOW - 5 }, 'The token has expired.'],
    ['expired before the epoch', { exp: -1 }, 'The token has expired.'],
    ['valid in 5.1 s', { nbf: NOW + 5.1 }, 'The token is not valid yet.'],
  ])('is refused when %s', async (_, claims, message) => {
    expect(await judge(withClaims(claims))).toMatchObject({ ok: false, reason: 'TOKEN_INVALID', message });
  });
});

/** Judges a token by these settings, besides those of its key and parties. */
function judgeBy(settings: Readonly<Record<string, string>>, claims: object) {
  const env = { JWT_SECRET: SECRET, JWT_ISSUER: ISSUER, JWT_AUDIENCE: AUDIENCE, ...settings };
  const key = { kind: 'secrets', secrets: [SECRET] } as const;
  const now = (): number => NOW * 1_000;
  const subject = createAuthenticator({ ...readTokens(env), key, now });
  return subject.authenticate(`Bearer ${signed(Buffer.from(JSON.stringify({ ...CLAIMS, ...claims })))}`);
}

describe('the scopes in a claim inside objects', () => {
  it.each<[string, object, string[]]>([
    ['/a/b', { a: { b: ['x', 'y'] } }, ['x', 'y']],
    ['/a/b', { a: { b: 'x y' } }, ['x', 'y']],
    ['/a/b', { a: { b: null } }, []],
    ['/a/b', { a: { B: 'x' } }, []],
    ['/a/b', { a: null }, []],
    ['/a/b', { a: 'b' }, []],
    ['/a/b', {}, []],
    ['/a/length', { a: 'xyz' }, []],
    ['/a/0', { a: ['x'] }, []],
    ['/a/b/c', { a: { b: ['c'] } }, []],
    ['/a.b/c:d', { 'a.b': { 'c:d': 'x' }, a: { b: { 'c:d': 'y' } } }, ['x']],
    ['/a~1b/c~0d', { 'a/b': { 'c~d': 'x' } }, ['x']],
    ['/a~01', { 'a~1': 'x', 'a/': 'y' }, ['x']],
    ['/a b/c d', { 'a b': { 'c d': 'x' } }, ['x']],
    ['/a/', { a: { '': 'x' } }, ['x']],
    ['/constructor/name', {}, []],
    ['/a/__proto__/b', { a: {} }, []],
    ['toString', {}, []],
    ['a.b', { 'a.b': 'x', a: { b: 'y' } }, ['x']],
    ['https://api.example/roles', { 'https://api.example/roles': ['x'] }, ['x']],
    ['/a/b, c ,d', { a: { b: 'x' }, c: ['y'], d: 'z', scope: 'not-read', scp: 5 }, ['x', 'y', 'z']],
  ])('%s of %j are %j', async (name, claims, scopes) => {
    expect(await judgeBy({ JWT_SCOPE_CLAIMS: name }, claims)).toMatchObject({
      ok: true,
      caller: { scopes: new Set(scopes) },
    });
  });

  it('may be in a member called __proto__, if the token has it itself', async () => {
    const payload = `${JSON.stringify(CLAIMS).slice(0, -1)},"a":{"__proto__":{"b":"x"}}}`;
    const scopeClaims = [{ name: '/a/__proto__/b', path: ['a', '__proto__', 'b'] }];
    const key = { kind: 'secrets', secrets: [SECRET] } as const;
    const subject = createAuthenticator({ ...ACCEPTED, scopeClaims, key, now: () => NOW * 1_000 });
    expect(await subject.authenticate(`Bearer ${signed(Buffer.from(payload))}`)).toMatchObject({
      caller: { scopes: new Set(['x']) },
    });
  });

  it.each([{ b: {} }, { b: 5 }, { b: ['x', 5] }, { b: false }])(
    'refuse the token, which names the claim, if they are of another type: %j',
    async (a) => {
      expect(await judgeBy({ JWT_SCOPE_CLAIMS: '/a/b' }, { a })).toEqual(
        invalid("The token's /a/b claim is not a string or an array of strings."),
      );
    },
  );
});

describe('the audience', () => {
  const FOREIGN = "The token's aud claim does not name this service.";

  it.each(['one', 'two'])('may be any of JWT_AUDIENCE: %s', async (aud) => {
    expect(await judgeBy({ JWT_AUDIENCE: 'one, two' }, { aud })).toMatchObject({ ok: true });
    expect(await judgeBy({ JWT_AUDIENCE: 'one, two' }, { aud: ['other', aud] })).toMatchObject({ ok: true });
  });

  it('is none of JWT_AUDIENCE', async () => {
    expect(await judgeBy({ JWT_AUDIENCE: 'one, two' }, { aud: 'one, two' })).toMatchObject({
      message: FOREIGN,
    });
  });

  const BY_CLIENT = { JWT_AUDIENCE: 'client-1,client-2', JWT_AUDIENCE_CLAIM: 'client_id' };

  it.each<[string, object, object]>([
    ['in its place', { aud: undefined, client_id: 'client-2' }, { ok: true }],
    ['a list in its place', { aud: undefined, client_id: ['x', 'client-1'] }, { ok: true }],
    ['beside a good aud', { aud: 'client-1', client_id: 'x' }, { ok: true }],
    ['beside a good aud, of another type', { aud: 'client-1', client_id: 5 }, { ok: true }],
    [
      'that is foreign',
      { aud: undefined, client_id: 'x' },
      { message: "The token's client_id claim does not name this service." },
    ],
    ['that is good beside a foreign aud', { aud: 'x', client_id: 'client-1' }, { message: FOREIGN }],
    ['that is good beside an empty aud', { aud: '', client_id: 'client-1' }, { message: FOREIGN }],
    ['that is good beside an empty list', { aud: [], client_id: 'client-1' }, { message: FOREIGN }],
    [
      'that is good beside an aud of null',
      { aud: null, client_id: 'client-1' },
      { message: "The token's aud claim is not a string or an array of strings." },
    ],
    [
      'of another type',
      { aud: undefined, client_id: null },
      { message: "The token's client_id claim is not a string or an array of strings." },
    ],
    [
      'missing too',
      { aud: undefined },
      { message: 'The token has no aud claim, and no client_id claim in its place.' },
    ],
  ])('with JWT_AUDIENCE_CLAIM: the claim %s', async (_, claims, expected) => {
    expect(await judgeBy(BY_CLIENT, claims)).toMatchObject(expected);
  });

  it('may be in an object', async () => {
    const settings = { ...BY_CLIENT, JWT_AUDIENCE_CLAIM: '/client/id' };
    expect(await judgeBy(settings, { aud: undefined, client: { id: 'client-1' } })).toMatchObject({
      ok: true,
    });
  });
});
