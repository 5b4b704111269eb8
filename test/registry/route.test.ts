import fc from '../support/fast-check.js';
import { describe, expect, it } from 'vitest';
import { readDefinition, type RouteDefinition, sameDefinition, shapeOf } from '../../src/registry/route.js';

const VALID: RouteDefinition = {
  method: 'GET',
  path: '/users/:id',
  middleware: ['authenticate'],
  handler: 'getUser',
};

function fieldsOf(change: Partial<RouteDefinition>): string[] {
  return readDefinition({ ...VALID, ...change }).violations.map(({ field }) => field);
}

describe('a valid definition', () => {
  it.each<[string, Partial<RouteDefinition>]>([
    ['the usual values', {}],
    ['a method of one character', { method: 'X' }],
    ['a method of 32 characters', { method: 'M'.repeat(32) }],
    ['a lower-case method, which is distinct from the upper-case one', { method: 'get' }],
    ['a method with every token character', { method: "!#$%&'*+-.^_`|~09AZaz" }],
    ['no middleware', { middleware: [] }],
    ['64 middleware', { middleware: Array<string>(64).fill('log') }],
    ['a handler of 255 characters that take four bytes each', { handler: '😀'.repeat(255) }],
    ['a middleware name of 255 characters that take four bytes each', { middleware: ['😀'.repeat(255)] }],
    ['a space within a name', { handler: 'get user' }],
    ['an emoji of several code points', { handler: '👩‍👩‍👧' }],
  ])('may have %s', (_, change) => {
    expect(readDefinition({ ...VALID, ...change }).violations).toEqual([]);
  });
});

describe('an invalid definition', () => {
  it.each<[string, Partial<RouteDefinition>, string[]]>([
    ['a method of 33 characters with a space', { method: `GE T${'M'.repeat(29)}` }, ['method', 'method']],
    ['a method with a trailing line break', { method: 'GET\n' }, ['method']],
    ['a non-ASCII method', { method: 'GÉT' }, ['method']],
    ['an empty path', { path: '' }, ['path']],
    [
      '65 empty middleware names, of which only 64 are checked',
      { middleware: Array<string>(65).fill('') },
      ['middleware', ...Array.from({ length: 64 }, (_, index) => `middleware[${index}]`)],
    ],
    ['a NUL', { handler: 'a\0b' }, ['handler']],
    ['a C1 control character', { handler: 'a\u0085b' }, ['handler']],
    [
      'a control character at the end of the longest name',
      { handler: `h${' '.repeat(253)}\u007f` },
      ['handler'],
    ],
    ['as many trailing spaces as fit', { handler: `h${' '.repeat(254)}` }, ['handler']],
    ['a lone surrogate', { handler: 'a\ud800b' }, ['handler']],
    ['a trailing space', { middleware: ['h '] }, ['middleware[0]']],
    ['a trailing no-break space', { handler: 'h\u00a0' }, ['handler']],
    ['a trailing tab, as a control character and as whitespace', { handler: 'h\t' }, ['handler', 'handler']],
  ])('is reported for %s', (_, change, fields) => {
    expect(fieldsOf(change)).toEqual(fields);
  });

  it('has every violation reported at once, in the order of the fields', () => {
    expect(fieldsOf({ method: '', path: 'x', middleware: ['', 'ok', ' '], handler: '' })).toEqual([
      'method',
      'path',
      'middleware[0]',
      'middleware[2]',
      'handler',
    ]);
  });

  it.each<[Partial<RouteDefinition>, string, string]>([
    [{ method: '' }, 'method', 'Must be an HTTP method of 1 to 32 characters, such as "GET"; got none.'],
    [{ method: 'M'.repeat(33) }, 'method', 'Must be 1 to 32 characters; got 33.'],
    [
      { method: 'GE T' },
      'method',
      `Must be ASCII letters, digits and any of !#$%&'*+-.^_\`|~ (RFC 9110); got "GE T".`,
    ],
    [{ middleware: Array<string>(65).fill('m') }, 'middleware', 'Must be 0 to 64 names; got 65.'],
    [{ middleware: ['log', ''] }, 'middleware[1]', 'Must be a name of 1 to 255 characters; got none.'],
    [{ handler: '😀'.repeat(256) }, 'handler', 'Must be 1 to 255 characters; got 256.'],
    [{ handler: 'a\nb' }, 'handler', 'Must have no control characters; got "a\\u{a}b".'],
    [{ handler: ' h' }, 'handler', 'Must not begin or end with whitespace; got " h".'],
  ])('of %j is reported for its field with what is allowed, then what came', (change, field, description) => {
    expect(readDefinition({ ...VALID, ...change }).violations).toEqual([{ field, description }]);
  });
});

/** The rule for names as the contract states it, sentence by sentence. */
function isName(name: string): boolean {
  const codePoints = Array.from(name, (character) => Number(character.codePointAt(0)));
  return (
    codePoints.length >= 1 &&
    codePoints.length <= 255 &&
    !codePoints.some((code) => code < 0x20 || (code >= 0x7f && code <= 0x9f)) &&
    !codePoints.some((code) => code >= 0xd800 && code <= 0xdfff) &&
    name.trim() === name
  );
}

describe('a random string', () => {
  const piece = fc.constantFrom(
    ...Array.from('aé😀 \t\u00a0\ufeff\u2028\u200b\u007f\u0085\u00a1\0'),
    ...['\ud83d', '\ude00', 'x'.repeat(253), '😀'.repeat(127), '😀'.repeat(254)],
  );

  it('is a valid handler and middleware name if and only if it follows the rule', () => {
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 5 }), (pieces) => {
        const name = pieces.join('');
        expect(fieldsOf({ handler: name }).length === 0).toBe(isName(name));
        expect(fieldsOf({ middleware: [name] }).length === 0).toBe(isName(name));
      }),
      { numRuns: 1_000 },
    );
  });

  it('is a valid method if and only if it is a token of 1 to 32 characters', () => {
    const token = "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    const character = fc.oneof(
      { weight: 9, arbitrary: fc.constantFrom(...Array.from(token)) },
      fc.constantFrom('(', ')', '/', ':', '@', ' ', '\n', '\u007f', 'é', '😀'),
    );
    fc.assert(
      fc.property(fc.array(character, { maxLength: 34 }), (characters) => {
        const isToken = characters.every((character) => token.includes(character));
        const isMethod = isToken && characters.length >= 1 && characters.length <= 32;
        expect(fieldsOf({ method: characters.join('') }).length === 0).toBe(isMethod);
      }),
      { numRuns: 1_000 },
    );
  });
});

describe('two definitions', () => {
  it.each<[string, Partial<RouteDefinition>]>([
    ['the method', { method: 'POST' }],
    ['the path', { path: '/users/:user' }],
    ['the case of the handler', { handler: 'GetUser' }],
    ['the number of middleware', { middleware: ['authenticate', 'log'] }],
    ['a middleware name', { middleware: ['log'] }],
  ])('that differ in %s are not the same', (_, change) => {
    expect(sameDefinition(VALID, { ...VALID, ...change })).toBe(false);
  });

  it('with equal fields are the same', () => {
    expect(sameDefinition(VALID, { ...VALID, middleware: [...VALID.middleware] })).toBe(true);
  });

  it('that differ only in the names of parameters are duplicates, but not with different methods', () => {
    expect(shapeOf({ ...VALID, path: '/users/:name' })).toBe(shapeOf(VALID));
    expect(shapeOf({ ...VALID, method: 'get' })).not.toBe(shapeOf(VALID));
  });
});
