import fc from '../support/fast-check.js';
import { describe, expect, it } from 'vitest';
import { checkPath } from '../../src/registry/path-pattern.js';

describe('a valid path pattern', () => {
  it.each([
    ['the root', '/'],
    ['a segment', '/users'],
    ['a final slash', '/users/'],
    ['a parameter', '/users/:id'],
    ['two parameters', '/users/:id/tasks/:task_id'],
    ['a parameter that begins with an underscore', '/:_id'],
    ['names that differ by case', '/:id/:Id'],
    ['every character that RFC 3986 allows', "/AZaz09-._~!$&'()*+,;=:@"],
    ['an escape', '/caf%C3%a9'],
    ['an escaped slash', '/a%2Fb'],
    ['a colon within a segment', '/a:b'],
    ['dots within a segment', '/a.b/...'],
    ['2048 characters', `/${'a'.repeat(2047)}`],
  ])('%s has no problem', (_, path) => {
    expect(checkPath(path)).toEqual([]);
  });
});

describe('an invalid path pattern', () => {
  it.each([
    [
      'an empty path',
      '',
      ['Is empty or missing. Give a path pattern of 1 to 2048 characters that begins with "/".'],
    ],
    ['2049 characters', `/${'a'.repeat(2048)}`, ['Has 2049 characters. 1 to 2048 are allowed.']],
    ['2049 characters of two code units', '😀'.repeat(2049), ['Has 2049 characters. 1 to 2048 are allowed.']],
    ['no slash at the start', 'users', ['Begins with "u". It must begin with "/".']],
    [
      'a space',
      '/a b',
      ['Has the character " ", which RFC 3986 does not allow in a path. Percent-encode it.'],
    ],
    [
      'a query',
      '/a?b',
      ['Has the character "?", which RFC 3986 does not allow in a path. Percent-encode it.'],
    ],
    [
      'a fragment',
      '/a#b',
      ['Has the character "#", which RFC 3986 does not allow in a path. Percent-encode it.'],
    ],
    [
      'a brace',
      '/a{id}',
      ['Has the character "{", which RFC 3986 does not allow in a path. Percent-encode it.'],
    ],
    [
      'a parameter in braces',
      '/users/{id}',
      ['Has the character "{", which RFC 3986 does not allow in a path. A parameter is written ":id".'],
    ],
    [
      'a parameter in angle brackets, with its type',
      '/users/<int:id>',
      ['Has the character "<", which RFC 3986 does not allow in a path. A parameter is written ":id".'],
    ],
    [
      'a parameter in square brackets',
      '/users/[id]',
      ['Has the character "[", which RFC 3986 does not allow in a path. A parameter is written ":id".'],
    ],
    [
      'an optional parameter',
      '/users/:id?',
      [
        'Has the character "?", which RFC 3986 does not allow in a path. A parameter is written ":id", and cannot be optional.',
        'Has the parameter ":id?". A parameter is ":" and a name of ASCII letters, digits and "_" that does not begin with a digit.',
      ],
    ],
    [
      'a non-ASCII letter',
      '/é',
      ['Has the character "é", which RFC 3986 does not allow in a path. Percent-encode it.'],
    ],
    [
      'an emoji',
      '/😀',
      ['Has the character "😀", which RFC 3986 does not allow in a path. Percent-encode it.'],
    ],
    [
      'a NUL',
      '/\0',
      ['Has the character "\\u{0}", which RFC 3986 does not allow in a path. Percent-encode it.'],
    ],
    [
      'an escape with one digit',
      '/%2',
      ['Has a "%" that is not followed by two hexadecimal digits. Write a literal "%" as "%25".'],
    ],
    [
      'an escape with letters that are not hexadecimal',
      '/%zz',
      ['Has a "%" that is not followed by two hexadecimal digits. Write a literal "%" as "%25".'],
    ],
    [
      'an empty segment',
      '/a//b',
      ['Has an empty segment ("//"). Only the segment after a final "/" may be empty.'],
    ],
    ['two slashes', '//', ['Has an empty segment ("//"). Only the segment after a final "/" may be empty.']],
    ['a dot segment', '/a/./b', ['Has the segment ".". Segments "." and ".." are not allowed.']],
    ['a segment of two dots', '/..', ['Has the segment "..". Segments "." and ".." are not allowed.']],
    [
      'a parameter without a name',
      '/:',
      [
        'Has the parameter ":". A parameter is ":" and a name of ASCII letters, digits and "_" that does not begin with a digit.',
      ],
    ],
    [
      'a parameter that begins with a digit',
      '/:1a',
      [
        'Has the parameter ":1a". A parameter is ":" and a name of ASCII letters, digits and "_" that does not begin with a digit.',
      ],
    ],
    [
      'a parameter with a suffix',
      '/:id.json',
      [
        'Has the parameter ":id.json". A parameter is ":" and a name of ASCII letters, digits and "_" that does not begin with a digit.',
      ],
    ],
    [
      'a space after as many segments as fit',
      `${'/a'.repeat(1023)} `,
      ['Has the character " ", which RFC 3986 does not allow in a path. Percent-encode it.'],
    ],
    [
      'a non-ASCII letter at the end of the longest path',
      `/${'.'.repeat(2046)}é`,
      ['Has the character "é", which RFC 3986 does not allow in a path. Percent-encode it.'],
    ],
    [
      'a repeated parameter name',
      '/:id/x/:id',
      ['Has the parameter ":id" more than once. Each name may occur once.'],
    ],
  ])('is reported for %s', (_, path, problems) => {
    expect(checkPath(path)).toEqual(problems);
  });

  it('has all its problems reported at once', () => {
    expect(checkPath('a b//../:1/:id/:id')).toHaveLength(6);
  });
});

/** The rule as the contract states it, sentence by sentence. */
function isPathPattern(path: string): boolean {
  const segments = path.split('/').slice(1);
  const parameters = segments.filter((segment) => segment.startsWith(':'));
  const characters = Array.from(path.replaceAll(/%[0-9A-Fa-f]{2}/g, 'x'));
  const allowed = "ABCXYZabcxyz0123456789-._~!$&'()*+,;=:@/";
  return (
    path.startsWith('/') &&
    characters.every((character) => allowed.includes(character)) &&
    !segments.slice(0, -1).includes('') &&
    !segments.some((segment) => segment === '.' || segment === '..') &&
    parameters.every((parameter) => /^:[A-Za-z_][A-Za-z0-9_]*$/.test(parameter)) &&
    new Set(parameters).size === parameters.length
  );
}

describe('a path pattern of random pieces', () => {
  const piece = fc.constantFrom(
    ...['/', '/', '/', ':', ':a', ':a', '/:b', ':9', 'a', 'Z', '_', '.', '..', '%4f', '%', '%4', '%zz'],
    ...['~', '*', '@', '?', '#', ' ', '\\', '\n', '\0', 'é', '😀', '\ud800'],
  );

  it('has a problem if and only if it breaks the rule', () => {
    fc.assert(
      fc.property(fc.array(piece, { minLength: 1, maxLength: 10 }), (pieces) => {
        const path = pieces.join('');
        expect(checkPath(path).length === 0).toBe(isPathPattern(path));
        expect(checkPath(`/${path}`).length === 0).toBe(isPathPattern(`/${path}`));
      }),
      { numRuns: 3_000 },
    );
  });
});
