import { describe, expect, it } from 'vitest';
import { judge, signed } from './secret-authenticator.js';
import { CLAIMS, compact } from './sign-jwt.js';

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
