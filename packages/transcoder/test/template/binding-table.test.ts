import { create } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import { HttpRuleSchema } from '../../src/gen/google/api/http_pb.js';
import { type Binding, bindingsOf } from '../../src/template/binding.js';
import { BindingTable } from '../../src/template/binding-table.js';
import { methodOf } from '../support/library-contract.js';

/** The binding of a method to the HTTP method `kind` at `path`. */
function bound(kind: string, path: string, method = 'Probe.Echo'): Binding[] {
  const pattern = { case: 'custom' as const, value: { kind, path } };
  return bindingsOf(methodOf(method), create(HttpRuleSchema, { pattern }));
}

const table = new BindingTable(
  [
    bound('GET', '/v1/books'),
    bound('POST', '/v1/books'),
    bound('GET', '/v1/books/{string_value}'),
    bound('DELETE', '/v1/books/{string_value}'),
    bound('POST', '/v1/books/{string_value}:archive'),
    bound('GET', '/v1/books/latest'),
    bound('PUT', '/v1/{string_value}/latest'),
    bound('GET', '/v1/files/{string_value=**}'),
    bound('GET', '/v1/files/{string_value=**}:stat'),
    bound('GET', '/v1/files/{string_value}/info'),
    bound('*', '/v1/any'),
    bound('POST', '/v1/any'),
    bound('OPTIONS', '/v1/options'),
    bound('HEAD', '/v1/head'),
    bound('GET', '/v1/head'),
    bound('GET', '/v1/r%20s'),
    bound('GET', '/v1/r%2As:%C3%a9'),
  ].flat(),
);

describe('a lookup', () => {
  it.each([
    ['GET', '/v1/books', '/v1/books', 'literals match'],
    ['HEAD', '/v1/books', '/v1/books', 'HEAD is served like GET'],
    ['HEAD', '/v1/head', '/v1/head', 'HEAD may have a binding of its own'],
    ['OPTIONS', '/v1/options', '/v1/options', 'OPTIONS may have a binding of its own'],
    ['BREW', '/v1/any', '/v1/any', '* is any HTTP method'],
    ['GET', '/v1/books/7', '/v1/books/{string_value}', '* matches a segment'],
    ['GET', '/v1/books/a%2Fb', '/v1/books/{string_value}', 'an escaped slash is in a segment'],
    ['GET', '/v1/books/latest', '/v1/books/latest', 'a literal takes precedence over *'],
    ['DELETE', '/v1/books/latest', '/v1/books/{string_value}', 'the HTTP method decides between them'],
    ['PUT', '/v1/books/latest', '/v1/{string_value}/latest', 'the search backtracks from a literal'],
    ['POST', '/v1/books/7:archive', '/v1/books/{string_value}:archive', 'a custom verb takes precedence'],
    ['GET', '/v1/books/7:archive', '/v1/books/{string_value}', 'else a colon is part of the segment'],
    ['GET', '/v1/books/7:other', '/v1/books/{string_value}', 'an unknown custom verb is part of the segment'],
    ['GET', '/v1/books/:archive', '/v1/books/{string_value}', 'a custom verb alone is not a segment'],
    ['GET', '/v1/files/a/b/c', '/v1/files/{string_value=**}', '** matches several segments'],
    ['GET', '/v1/files', '/v1/files/{string_value=**}', '** matches zero segments'],
    ['GET', '/v1/files/a/b:stat', '/v1/files/{string_value=**}:stat', '** does not match the custom verb'],
    ['GET', '/v1/files/a/info', '/v1/files/{string_value}/info', '* takes precedence over **'],
    ['GET', '/v1/r%20s', '/v1/r%20s', 'a literal is compared as written'],
    ['GET', '/v1/r%2as:%c3%a9', '/v1/r%2As:%C3%a9', 'escapes are case-insensitive'],
  ])('of %s %s finds %s: %s', (verb, path, found) => {
    const lookup = table.find(verb, path);
    expect(lookup).toMatchObject({ outcome: 'found', binding: { template: { source: found } } });
  });

  it.each([
    ['GET', '/v1/books/7:', ['v1', 'books', '7:'], 'a custom verb is not empty'],
    ['GET', '/v1/files/a:', ['v1', 'files', 'a:'], 'a custom verb is not empty'],
    [
      'GET',
      '/v1/books/7:archive:',
      ['v1', 'books', '7:archive:'],
      'only the last colon may begin a custom verb',
    ],
    ['POST', '/v1/books/7::archive', ['v1', 'books', '7:'], 'only the last colon may begin a custom verb'],
    ['GET', '/v1/files/:', ['v1', 'files', ':'], 'a colon may be a segment'],
  ])('of %s %s finds the segments %j: %s', (verb, path, segments) => {
    expect(table.find(verb, path)).toMatchObject({ outcome: 'found', segments });
  });

  it.each([
    ['POST', '/v1/books/7:archive:', '/v1/books/{string_value}', ['GET', 'HEAD', 'DELETE', 'OPTIONS']],
    ['PATCH', '/v1/books', '/v1/books', ['GET', 'HEAD', 'POST', 'OPTIONS']],
    ['OPTIONS', '/v1/books', '/v1/books', ['GET', 'HEAD', 'POST', 'OPTIONS']],
    ['get', '/v1/books', '/v1/books', ['GET', 'HEAD', 'POST', 'OPTIONS']],
    ['PATCH', '/v1/books/latest', '/v1/books/latest', ['GET', 'HEAD', 'DELETE', 'PUT', 'OPTIONS']],
    [
      'PATCH',
      '/v1/books/7:archive',
      '/v1/books/{string_value}:archive',
      ['POST', 'GET', 'HEAD', 'DELETE', 'OPTIONS'],
    ],
    ['OPTIONS', '/v1/any', '/v1/any', ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']],
    ['GET', '/v1/options', '/v1/options', ['OPTIONS']],
  ])('of %s %s names the HTTP methods that are allowed at %s', (verb, path, source, allowed) => {
    expect(table.find(verb, path)).toMatchObject({
      outcome: 'wrong verb',
      allowed,
      binding: { template: { source } },
    });
  });

  it.each([
    ['/', 'nothing is bound there'],
    ['', 'it is not a path'],
    ['*', 'it is not a path'],
    ['v1/books', 'it does not begin with a slash'],
    ['/v1/Books', 'paths are case-sensitive'],
    ['/v1/books/', 'a trailing slash counts'],
    ['//v1/books', 'slashes are not merged'],
    ['/v1//books', 'no segment is empty'],
    ['/v1/books/7/', 'a trailing slash counts'],
    ['/v1/x/../books', 'dot segments are not resolved'],
    ['/v1/b%6Foks', 'an escaped letter is not the letter'],
    ['/v1/R%20s', 'only escapes are case-insensitive'],
    ['/v1/r%2Xs', 'it is not an escape'],
    ['/v1/files/', 'no segment of ** is empty'],
    ['/v1/files/a//b', 'no segment of ** is empty'],
    ['/v1/books/7:archive/x', 'a custom verb ends the path'],
    ['/v1', 'a template is matched as a whole'],
    ['/v1/books:archive', 'a custom verb belongs to its template'],
    ['/v1/books:', 'a custom verb is not empty'],
    ['/v1/books::', 'a custom verb is not empty'],
    ['/v1/books/latest/:', 'a colon alone is a segment'],
    ['/v1/any%3A', 'an escaped colon is part of a segment'],
  ])('of GET %s finds nothing: %s', (path) => {
    expect(table.find('GET', path)).toEqual({ outcome: 'unknown path' });
  });
});

describe('a template of ** alone', () => {
  const all = new BindingTable([...bound('GET', '/{string_value=**}'), ...bound('GET', '/**:stat')]);

  it.each([
    ['/', [], '** matches zero segments'],
    ['/a', ['a'], '** matches a segment'],
    ['/a/b', ['a', 'b'], '** matches several segments'],
    ['/:stat', [], '** does not match the custom verb'],
    ['/:', [':'], 'a custom verb is not empty'],
  ])('matches %s as %j: %s', (path, segments) => {
    expect(all.find('GET', path)).toMatchObject({ outcome: 'found', segments });
  });
});

describe('a table of bindings', () => {
  it.each([
    ['/v1/a%2a', '/v1/a%2A'],
    ['/v1/books/{string_value}', '/v1/books/{name}'],
    ['/v1/{string_value=books/*}', '/v1/books/{name}'],
    ['/v1/{string_value=**}', '/v1/**'],
    ['/v1/{string_value}:go', '/v1/*:go'],
  ])('refuses %s and %s, which match the same requests', (first, second) => {
    const bindings = [...bound('GET', first), ...bound('GET', second, 'Library.GetBook')];
    expect(() => new BindingTable(bindings)).toThrow(
      /^library\.v1\.Library\.GetBook: GET .* is bound to library\.v1\.Probe\.Echo, which comes first\.$/,
    );
  });
});
