import { describe, expect, it } from 'vitest';
import { expandPathTemplate, parsePathTemplate, variableValue } from '../../src/template/path-template.js';
import { firstOf } from '../support/library-contract.js';

describe('a path template', () => {
  it.each([
    { source: '/', segments: [], customVerb: '' },
    { source: '/v1/books', segments: ['v1', 'books'], customVerb: '' },
    { source: '/v1/books:search', segments: ['v1', 'books'], customVerb: 'search' },
    { source: '/v1/*/books/**', segments: ['v1', '*', 'books', '**'], customVerb: '' },
    { source: '/a%2Fb/c+d', segments: ['a%2Fb', 'c+d'], customVerb: '' },
    { source: '/**:all', segments: ['**'], customVerb: 'all' },
    { source: '/a%2fb%6f/%c3%A9:%2a', segments: ['a%2Fb%6F', '%C3%A9'], customVerb: '%2A' },
  ])('reads literals, wildcards and the custom verb of $source', ({ source, segments, customVerb }) => {
    expect(parsePathTemplate(source)).toEqual({ source, segments, customVerb, variables: [] });
  });

  it.each([
    { source: '/{id}', fieldPath: ['id'], start: 0, end: 1, multiSegment: false },
    { source: '/v1/{id=*}', fieldPath: ['id'], start: 1, end: 2, multiSegment: false },
    { source: '/{a.b_c.d}:do', fieldPath: ['a', 'b_c', 'd'], start: 0, end: 1, multiSegment: false },
    { source: '/{id=only}', fieldPath: ['id'], start: 0, end: 1, multiSegment: false },
    { source: '/{name=shelves/*}', fieldPath: ['name'], start: 0, end: 2, multiSegment: true },
    { source: '/v1/{path=**}', fieldPath: ['path'], start: 1, end: Infinity, multiSegment: true },
    { source: '/{path=a/**}', fieldPath: ['path'], start: 0, end: Infinity, multiSegment: true },
  ])('knows the segments of the variable in $source', ({ source, ...variable }) => {
    expect(parsePathTemplate(source).variables).toEqual([variable]);
  });

  it.each([
    ['', 'it is empty'],
    ['v1', 'it does not begin with a slash'],
    ['/v1/', 'it ends with a slash'],
    ['/v1//a', 'a segment is empty'],
    ['/v1/a b', 'a space must be escaped'],
    ['/v1/a?b', 'it has a query'],
    ['/v1/%zz', 'the escape is malformed'],
    ['/v1/{id', 'the closing brace is missing'],
    ['/v1/id}', 'the opening brace is missing'],
    ['/v1/{}', 'the variable has no name'],
    ['/v1/{1d}', 'the name is not an identifier'],
    ['/v1/{a.}', 'a part of the name is missing'],
    ['/v1/{a=}', 'the pattern is empty'],
    ['/v1/{a={b}}', 'variables are nested'],
    ['/v1/x{a}', 'a variable is only part of a segment'],
    ['/v1/{a}x', 'a variable is only part of a segment'],
    ['/v1/a*', 'a wildcard is only part of a segment'],
    ['/v1/a:', 'the custom verb is missing'],
    ['/v1/{a}:', 'the custom verb is missing'],
    ['/v1/{a=b:c}', 'a custom verb is inside a variable'],
    ['/v1/a:b:c', 'there are two custom verbs'],
    ['/v1:a/b', 'the custom verb is not last'],
    ['/{a}/{a}', 'a variable is repeated'],
  ])('%s is refused: %s', (source) => {
    expect(() => parsePathTemplate(source)).toThrow(`"${source}"`);
  });
});

describe('the value of a path variable', () => {
  it.each([
    { segments: ['plain'], value: 'plain', why: 'nothing is escaped' },
    { segments: ['a%2Fb%2fc'], value: 'a/b/c', why: 'one segment is decoded whole' },
    { segments: ['%F0%9F%93%9A'], value: '📚', why: 'escapes are UTF-8' },
    { segments: ['a+b'], value: 'a+b', why: 'a plus is a plus in a path' },
    { segments: ['%00'], value: '\0', why: 'NUL is a character' },
    { segments: ['a%zz'], value: undefined, why: 'an escape is malformed' },
    { segments: ['%'], value: undefined, why: 'an escape is truncated' },
    { segments: ['%C3%28'], value: undefined, why: 'escapes are not UTF-8' },
    { segments: ['%ED%A0%80'], value: undefined, why: 'a surrogate is not UTF-8' },
    { segments: ['a"b'], value: undefined, why: 'RFC 3986 forbids it in a path' },
    { segments: ['é'], value: undefined, why: 'bytes beyond ASCII must be escaped' },
    { segments: ['a#b'], value: undefined, why: 'a request has no fragment' },
  ])('in one segment is decoded or refused: $why', ({ segments, value }) => {
    const variable = firstOf(parsePathTemplate('/{id}').variables);
    expect(variableValue(variable, segments)).toBe(value);
  });

  it.each([
    { path: 'v1/a/b%20c', value: 'a/b c', why: 'segments are joined and decoded' },
    { path: 'v1/a%2Fb/c%2fd', value: 'a%2Fb/c%2fd', why: 'an escaped slash stays as it was sent' },
    { path: 'v1', value: '', why: '** matches zero segments' },
    { path: 'v1/a%2a', value: 'a*', why: 'escapes are case-insensitive' },
    { path: 'v1/%C3%2F%A9', value: undefined, why: 'a slash cannot split a character' },
  ])('in several segments is decoded or refused: $why', ({ path, value }) => {
    const variable = firstOf(parsePathTemplate('/v1/{path=**}').variables);
    expect(variableValue(variable, path.split('/'))).toBe(value);
  });
});

describe('the path that a template expands to', () => {
  it.each([
    { source: '/v1/shelves/{id}', values: ['a b/c'], path: '/v1/shelves/a%20b%2Fc' },
    {
      source: '/v1/{name=shelves/*/books/*}',
      values: ['shelves/1/books/ä'],
      path: '/v1/shelves/1/books/%C3%A4',
    },
    { source: '/v1/{a}/x/{b}:read', values: ['1', '2'], path: '/v1/1/x/2:read' },
  ])('is $path for $source', ({ source, values, path }) => {
    expect(expandPathTemplate(parsePathTemplate(source), values)).toBe(path);
  });
});
