import fc from '../support/fast-check.js';
import { describe, expect, it } from 'vitest';
import { PATH_MAX, PATH_SYNTAX, readPath } from '../../src/registry/path-pattern.js';
import { EVERY_ROUTER_PATTERN } from './router-patterns.js';

const NAME_TEXT =
  'Must have a name of ASCII letters, digits, "_" and "$", or one in double quotes, after each ":", or "\\:" for a literal one; got';

describe('a valid path pattern', () => {
  it.each([
    ['the root', '/'],
    ['a final slash', '/users/'],
    ['a parameter that begins with an underscore', '/:_id'],
    ['a name that begins with a digit, or has a dollar sign', '/:2fa/:$id/:a$b/12:30'],
    [
      'a name in double quotes, whatever it holds',
      '/:"user-id"/*"all/of.it"/:"a?b=c#%:(é)"'.replace('é', 'e'),
    ],
    ['a name twice', '/:id-:id/:1/:1/*id'],
    [
      'brackets within a set of characters',
      String.raw`/:a([^)]+)/:b{[^}\]{]*}/:c<regex(^[^>]+$)>/:d([])(])(?:[(])`,
    ],
    ['a `[` in a constraint that nothing closes', '/:a([)/:b(x[^)'],
    ['every character without a meaning', '/AZaz09-._~!$&\',;=@"^`|+'],
    ['a percent-encoded letter', '/caf%C3%a9'],
    ['a percent-encoded slash', '/a%2Fb'],
    ['dots within a segment', '/a.b/.../.a/..b'],
    ['escaped dots as a segment', String.raw`/\./\.\.`],
    ['every escape', String.raw`/\:\*\?\+\(\)\[\]\{\}\<\>\\\/\#\%\=\a`],
    ['literal colons before and after a parameter', '/:::id::'],
    ['a question mark without an equals sign after it', '/a=b?c'],
    ['an equals sign in the segment after a question mark', '/a?/b=c'],
    ['a question mark and an equals sign, escaped', String.raw`/a\?b=c`],
    ['a query within a group', '/a(?b=c)/d{e?f=g}'],
    ['what is refused outside brackets, within a group', '/a(//./../#/%)'],
    ['anything within a constraint', '/:a([:]{2}<#/%/../:a)'],
    ['an escaped bracket within a constraint', String.raw`/:a([^\)]+)/:b{[\}]}/:c<\>>`],
    ['brackets of its own kind within a constraint', '/:a((a|b)(c))/:b{[0-9]{3}}/:c<x<y>z>'],
    ['a constraint that begins with any text', String.raw`/:url(.*://.*)/:n(-*\d)`],
    ['a group after a constraint', String.raw`/:id(\d+)(.:format)`],
    ['an opaque bracket anywhere', '/a(?:[{:]|/)b(?!:)'],
    ['groups within groups', '/a{/:b[(:c)<:d>]}'],
    ['a wildcard, and its name elsewhere as text', '/*path/a*path/{*more}/(*rest)/[*path]'],
    ['an asterisk after a wildcard or a parameter', '/*path*/:id*'],
    ['a name in brackets within a segment', '/a{id}/b[id]/<id>c/{id}.json'],
    ['a name in round brackets', '/(id)'],
    ['2048 characters', `/${'a'.repeat(2047)}`],
    ['2048 colons and slashes', '/::'.repeat(682)],
  ])('may have %s', (_, path) => {
    expect(readPath(path).problems).toEqual([]);
  });

  it.each(EVERY_ROUTER_PATTERN)('may be $path, for $router', ({ path }) => {
    expect(readPath(path).problems).toEqual([]);
    expect(path).toMatch(PATH_SYNTAX);
  });
});

describe('an invalid path pattern', () => {
  it.each([
    ['an empty path', '', ['Must be a path pattern of 1 to 2048 characters that begins with "/"; got none.']],
    ['2049 characters', `/${'a'.repeat(2048)}`, ['Must be 1 to 2048 characters; got 2049.']],
    ['2049 characters of two code units', '😀'.repeat(2049), ['Must be 1 to 2048 characters; got 2049.']],
    ['no slash at the start', 'users', ['Must begin with "/"; got "users".']],
    ['an escaped slash at the start', String.raw`\/a`, [String.raw`Must begin with "/"; got "\\/a".`]],
    [
      'no slash at the start of a long path',
      'u'.repeat(41),
      [`Must begin with "/"; got "${'u'.repeat(40)}…".`],
    ],
    ...[' ', 'é', '😀', '\\u{0}', '\\u{7f}'].map((shown): [string, string, string[]] => [
      `the character ${shown}`,
      `/a${shown.replace('\\u{0}', '\0').replace('\\u{7f}', '\x7f')}b`,
      [`Must be visible ASCII characters, others percent-encoded; got "${shown}".`],
    ]),
    [
      'a space within a constraint',
      '/:a(b c)',
      ['Must be visible ASCII characters, others percent-encoded; got " ".'],
    ],
    [
      'a non-ASCII letter at the end of the longest path',
      `/${'.'.repeat(2046)}é`,
      ['Must be visible ASCII characters, others percent-encoded; got "é".'],
    ],
    ['a fragment', '/a#b', ['Must have no "#" outside brackets, or "%23" for a literal one; got "#".']],
    ['a query', '/a?b=c/d', ['Must have no query; got "?b=c/d".']],
    ['a query after a parameter', '/:id?sort=asc', ['Must have no query; got "?sort=asc".']],
    ['a query around brackets', '/a?(b)=c', ['Must have no query; got "?(b)=c".']],
    ...['%2', '%zz', '%', '%4/'].map((escape): [string, string, string[]] => [
      `the escape ${escape}`,
      `/${escape}`,
      [
        `Must have two hexadecimal digits after each "%", or "%25" for a literal one; got "${escape.slice(0, 3)}".`,
      ],
    ]),
    ['an empty segment', '/a//b', ['Must have no empty segment but after a final "/"; got "//".']],
    ['two slashes', '//', ['Must have no empty segment but after a final "/"; got "//".']],
    ['a dot segment', '/a/./b', ['Must have no segment "." or ".."; got ".".']],
    ['a segment of two dots', '/..', ['Must have no segment "." or ".."; got "..".']],
    ['a colon without a name', '/a/:', [`${NAME_TEXT} ":".`]],
    ['an empty name in quotes', '/:""', [`${NAME_TEXT} ":\\"\\"".`]],
    ['a name in quotes without an end', '/:"a/b', [`${NAME_TEXT} ":\\"a/b".`]],
    ['a backslash in quotes', String.raw`/:"a\"b"`, [`${NAME_TEXT} ":\\"a".`]],
    ['a colon before a hyphen', '/:-a', [`${NAME_TEXT} ":".`]],
    ['a colon without a name in a group', '/a(/:)', [`${NAME_TEXT} ":".`]],
    ['a third colon', '/a:::', [`${NAME_TEXT} ":".`]],
    ...[
      ['an open bracket', '/a(b', '(', ')'],
      ['an open constraint', '/:a{b', '{', '}'],
      ['an open constraint, by a set of characters', '/:a([)])/:b([(])/:c([)]', '(', ')'],
      ['an open constraint, by an escape', String.raw`/:a(b\)`, '(', ')'],
      ['an open opaque bracket', '/a(?b', '(', ')'],
      ['an open bracket of four kinds', '/a(b[c]{d}<e>', '(', ')'],
      ['a bracket that nothing opened', '/a]b', ']', '['],
      ['a bracket that closes another kind', '/a(b]c)', ']', '['],
      ['a bracket that closes within another one', '/a(b[c)d]', ')', '('],
    ].map(([title = '', path = '', got = '', missing = '']): [string, string, string[]] => [
      title,
      path,
      expect.arrayContaining([
        `Must have balanced brackets, or "\\${got}" for a literal one; got "${got}" without "${missing}".`,
      ]) as string[],
    ]),
    [
      'a final backslash',
      '/a\\',
      [String.raw`Must have a character after each "\"; got none after the last one.`],
    ],
    ...[
      ['/users/{id}', 'id', '{id}'],
      ['/{id}/', 'id', '{id}'],
      ['/{id?}/x', 'id', '{id?}'],
      ['/{id=5}', 'id', '{id=5}'],
      ['/{id:int}', 'id', '{id:int}'],
      ['/{id:[0-9]+}', 'id', '{id:[0-9]+}'],
      ['/{id:[^/]{3}}/x', 'id', '{id:[^/]{3}}'],
      ['/[id]', 'id', '[id]'],
      ['/<id>', 'id', '<id>'],
      ['/<int:id>/x', 'id', '<int:id>'],
      ['/<string(length=2):lang>', 'lang', '<string(length=2):lang>'],
      [`/{${'a'.repeat(2_000)}}`, `${'a'.repeat(39)}…`, `{${'a'.repeat(39)}…`],
    ].map(([path = '', name = '', got = '']): [string, string, string[]] => [
      `the way of another router to write a parameter, ${got}`,
      path,
      [`Must write a parameter as ":${name}"; got "${got}".`],
    ]),
    ...[
      ['/{path...}', 'path', '{path...}'],
      ['/{proxy+}', 'proxy', '{proxy+}'],
      ['/{file*2}', 'file', '{file*2}'],
      ['/[...slug]', 'slug', '[...slug]'],
      ['/[[...slug]]', 'slug', '[[...slug]]'],
    ].map(([path = '', name = '', got = '']): [string, string, string[]] => [
      `the way of another router to write a wildcard, ${path}`,
      path,
      [`Must write a wildcard as "*${name}"; got "${got}".`],
    ]),
  ])('is reported for %s', (_, path, problems) => {
    expect(readPath(path).problems).toEqual(problems);
  });

  it('has all its problems reported at once', () => {
    expect(readPath('a b//../:-1/#%?=/(\\').problems).toHaveLength(10);
  });

  it('with many problems is not read to its end, and is said to have more', () => {
    const { problems, complete } = readPath(`/${'#'.repeat(100)})`);
    expect(problems).toEqual(['Must have no "#" outside brackets, or "%23" for a literal one; got "#".']);
    expect(complete).toBe(false);
  });

  it('that ends with its hundredth problem is read to its end', () => {
    expect(readPath(`/${'#'.repeat(100)}`).complete).toBe(true);
  });

  it('that is not read to its end is not refused for a bracket that closes later', () => {
    const { problems } = readPath(`/(${':-'.repeat(100)})`);
    expect(problems).toEqual([expect.stringContaining('Must have a name')]);
  });
});

describe('the shape of a path', () => {
  it.each([
    ['/users/:id', '/users/:'],
    ['/:a-:b', '/:-:'],
    [String.raw`/:id(\d+)`, String.raw`/:(\d+)`],
    ['/:id?/:more*/:most+', '/:?/:*/:+'],
    ['/files/*path', '/files/*'],
    ['/files/*', '/files/*'],
    ['/{*splat}', '/{*}'],
    ['/ab*cd', '/ab*cd'],
    ['/photos(/:id)(.:format)', '/photos(/:)(.:)'],
    ['/:pathMatch(.*)*', '/:(.*)*'],
    ['/:a:b', '/::'],
    ['/:2fa/:$id/:"user/id"x/*"all"', '/:/:/:x/*'],
    ['/:a$b-:a', '/:-:'],
    ['/:a([)]:b)/:c{[^}]:d}:e', '/:([)]:b)/:{[^}]:d}:'],
    ['/:a([:b)/:c', '/:([:b)/:'],
    ['/a::b', String.raw`/a\:b`],
    [String.raw`/a\:b`, String.raw`/a\:b`],
    [String.raw`/a\.b`, String.raw`/a\.b`],
    ['/v1/books:batchGet', '/v1/books:'],
    [String.raw`/v1/books\:batchGet`, String.raw`/v1/books\:batchGet`],
    ['/x(?:a|:b)', '/x(?:a|:b)'],
  ])('of %s is %s', (path, shape) => {
    expect(readPath(path).shape).toBe(shape);
  });

  it.each([
    ['the routes stored before patterns were read: a colon without a name', '/a:/:', String.raw`/a\:/\:`],
    ['an open bracket', '/a(:b', '/a(:'],
    ['an open constraint', '/a:b(:c', '/a:(:c'],
  ])('exists for a path that is refused, with %s', (_, path, shape) => {
    expect(readPath(path).shape).toBe(shape);
  });
});

/** A piece of a pattern, and the same in its shape, with the names that `nextName` gives. */
type Piece = (nextName: () => string) => readonly [pattern: string, shape: string];

const text = (...all: readonly string[]): fc.Arbitrary<Piece> =>
  fc.constantFrom(...all).map((piece) => () => [piece, piece] as const);
const visible = fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCodePoint(code));
const constraint = fc.constantFrom(
  '',
  '',
  String.raw`(\d+)`,
  '{[a-z]{2}}',
  '<int>',
  '(.*)',
  String.raw`([:\)])`,
  '([^):]+)',
  '{[]}]}',
  '<x[>]y>',
);
const modifier = fc.constantFrom('', '', '?', '*', '+');
const leaf = fc.oneof(
  text('a', 'Z9_', '.x', '..', '~!$&,;@', '%4f', "'", '^|`"', '++', 'a*b', 'x?'),
  visible.map((character): Piece => () => [`\\${character}`, `\\${character}`]),
  fc.constant<Piece>(() => ['::', String.raw`\:`]),
  text('(?:a|b)', '(?=[{:#])'),
  fc
    .tuple(constraint, modifier)
    .map(([limit, mode]): Piece => (nextName) => [`:${nextName()}${limit}${mode}`, `:${limit}${mode}`]),
);
const wildcard = fc.constant<Piece>((nextName) => [`*${nextName()}`, '*']);

function joinPieces(separator: string, pieces: readonly Piece[]): Piece {
  return (nextName) => {
    const parts = pieces.map((piece) => piece(nextName));
    return [
      parts.map(([pattern]) => pattern).join(separator),
      parts.map(([, shape]) => shape).join(separator),
    ];
  };
}

/** Pieces with a hyphen between them, so that none changes what the next one means. */
const { pieces } = fc.letrec<{ pieces: Piece; group: Piece }>((tie) => ({
  pieces: fc
    .array(fc.oneof({ maxDepth: 3 }, leaf, tie('group')), { minLength: 1, maxLength: 3 })
    .map((all) => joinPieces('-', all)),
  group: fc
    .tuple(
      fc.constantFrom('()', '{}', '<>', '[]'),
      fc.constantFrom('', '#', '/', '//./', '%', 'x=y?z='),
      tie('pieces'),
    )
    .map(([kind, odd, inside]): Piece => (nextName) => {
      const [pattern, shape] = inside(nextName);
      return [`${kind[0]}${odd}~${pattern}${kind[1]}`, `${kind[0]}${odd}~${shape}${kind[1]}`];
    }),
}));
const segment = fc.oneof(
  { weight: 4, arbitrary: fc.tuple(leaf, pieces).map((all) => joinPieces('-', all)) },
  { weight: 1, arbitrary: wildcard },
);
const pattern = fc
  .tuple(fc.array(segment, { minLength: 1, maxLength: 4 }), fc.constantFrom('', '/'))
  .map(([segments, end]): Piece => (nextName) => {
    const [path, shape] = joinPieces('/', segments)(nextName);
    return [`/${path}${end}`, `/${shape}${end}`];
  });

function namesFrom(prefix: string): () => string {
  let count = 0;
  return () => `${prefix}${count++}`;
}

describe('a path pattern built from any pieces', () => {
  it('is accepted, and has the same shape whatever its parameters are called', () => {
    fc.assert(
      fc.property(pattern, (build) => {
        const [path, shape] = build(namesFrom('p'));
        const [renamed] = build(namesFrom('Another_name'));
        expect(readPath(path).problems).toEqual([]);
        expect(readPath(renamed).problems).toEqual([]);
        expect(readPath(path).shape).toBe(shape);
        expect(readPath(renamed).shape).toBe(shape);
        expect(path).toMatch(PATH_SYNTAX);
      }),
      { numRuns: 2_000 },
    );
  });

  it.each([
    ['an empty segment', '//'],
    ['a fragment', '#'],
    ['a broken escape', '%4'],
    ['a query', '?='],
    ['a nameless colon', ':-'],
    ['an open bracket', '{'],
    ['a closing bracket', '>'],
    ['a non-ASCII letter', 'é'],
    ['a parameter of another router', '/{id}'],
    ['a final backslash', '\\'],
  ])('is refused with %s at its end', (_, defect) => {
    fc.assert(
      fc.property(pattern, (build) => {
        const [path] = build(namesFrom('p'));
        expect(readPath(`${path}-${defect}`).problems).not.toEqual([]);
      }),
      { numRuns: 500 },
    );
  });
});

/** Every character with a meaning, and what its neighbours change of it. */
const hostilePiece = fc.constantFrom(
  ...Array.from('/:*?+=#%\\()[]{}<>.-_a9 é'),
  ...[
    ':a',
    '*a',
    '::',
    '(?',
    '{a',
    '{a:',
    '[[...a',
    '<a:',
    '%4f',
    '\\(',
    '\\)',
    ':a(',
    ':b{',
    ':c<',
    ':"',
    '"',
    '[^',
    '[]',
    '(.:',
    '/{a}',
  ],
);

describe('a path of any text', () => {
  it('that is accepted has a shape that is no longer, and the documented syntax', () => {
    fc.assert(
      fc.property(fc.array(hostilePiece, { maxLength: 12 }), (all) => {
        const path = `/${all.join('')}`;
        fc.pre(readPath(path).problems.length === 0);
        expect(readPath(path).shape.length).toBeLessThanOrEqual(path.length);
        expect(path).toMatch(PATH_SYNTAX);
      }),
      { numRuns: 2_000 },
    );
  });

  it('that is too long is not read', () => {
    expect(readPath(`/${':'.repeat(PATH_MAX)}`).problems).toHaveLength(1);
  });
});
