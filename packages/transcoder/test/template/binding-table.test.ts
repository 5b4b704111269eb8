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
    { verb: 'GET', path: '/v1/books', found: '/v1/books', why: 'literals match' },
    { verb: 'HEAD', path: '/v1/books', found: '/v1/books', why: 'HEAD is served like GET' },
    { verb: 'HEAD', path: '/v1/head', found: '/v1/head', why: 'HEAD may have a binding of its own' },
    {
      verb: 'OPTIONS',
      path: '/v1/options',
      found: '/v1/options',
      why: 'OPTIONS may have a binding of its own',
    },
    { verb: 'BREW', path: '/v1/any', found: '/v1/any', why: '* is any HTTP method' },
    { verb: 'GET', path: '/v1/books/7', found: '/v1/books/{string_value}', why: '* matches a segment' },
    {
      verb: 'GET',
      path: '/v1/books/a%2Fb',
      found: '/v1/books/{string_value}',
      why: 'an escaped slash is in a segment',
    },
    {
      verb: 'GET',
      path: '/v1/books/latest',
      found: '/v1/books/latest',
      why: 'a literal takes precedence over *',
    },
    {
      verb: 'DELETE',
      path: '/v1/books/latest',
      found: '/v1/books/{string_value}',
      why: 'the HTTP method decides between them',
    },
    {
      verb: 'PUT',
      path: '/v1/books/latest',
      found: '/v1/{string_value}/latest',
      why: 'the search backtracks from a literal',
    },
    {
      verb: 'POST',
      path: '/v1/books/7:archive',
      found: '/v1/books/{string_value}:archive',
      why: 'a custom verb takes precedence',
    },
    {
      verb: 'GET',
      path: '/v1/books/7:archive',
      found: '/v1/books/{string_value}',
      why: 'else a colon is part of the segment',
    },
    {
      verb: 'GET',
      path: '/v1/books/7:other',
      found: '/v1/books/{string_value}',
      why: 'an unknown custom verb is part of the segment',
    },
    {
      verb: 'GET',
      path: '/v1/books/:archive',
      found: '/v1/books/{string_value}',
      why: 'a custom verb alone is not a segment',
    },
    {
      verb: 'GET',
      path: '/v1/files/a/b/c',
      found: '/v1/files/{string_value=**}',
      why: '** matches several segments',
    },
    { verb: 'GET', path: '/v1/files', found: '/v1/files/{string_value=**}', why: '** matches zero segments' },
    {
      verb: 'GET',
      path: '/v1/files/a/b:stat',
      found: '/v1/files/{string_value=**}:stat',
      why: '** does not match the custom verb',
    },
    {
      verb: 'GET',
      path: '/v1/files/a/info',
      found: '/v1/files/{string_value}/info',
      why: '* takes precedence over **',
    },
    { verb: 'GET', path: '/v1/r%20s', found: '/v1/r%20s', why: 'a literal is compared as written' },
    {
      verb: 'GET',
      path: '/v1/r%2as:%c3%a9',
      found: '/v1/r%2As:%C3%a9',
      why: 'escapes are case-insensitive',
    },
  ])('of $verb $path finds $found: $why', ({ verb, path, found }) => {
    const lookup = table.find(verb, path);
    expect(lookup).toMatchObject({ outcome: 'found', binding: { template: { source: found } } });
  });

  it.each([
    {
      verb: 'GET',
      path: '/v1/books/7:',
      segments: ['v1', 'books', '7:'],
      why: 'a custom verb is not empty',
    },
    {
      verb: 'GET',
      path: '/v1/files/a:',
      segments: ['v1', 'files', 'a:'],
      why: 'a custom verb is not empty',
    },
    {
      verb: 'GET',
      path: '/v1/books/7:archive:',
      segments: ['v1', 'books', '7:archive:'],
      why: 'only the last colon may begin a custom verb',
    },
    {
      verb: 'POST',
      path: '/v1/books/7::archive',
      segments: ['v1', 'books', '7:'],
      why: 'only the last colon may begin a custom verb',
    },
    { verb: 'GET', path: '/v1/files/:', segments: ['v1', 'files', ':'], why: 'a colon may be a segment' },
  ])('of $verb $path finds the segments $segments: $why', ({ verb, path, segments }) => {
    expect(table.find(verb, path)).toMatchObject({ outcome: 'found', segments });
  });

  it.each([
    {
      verb: 'POST',
      path: '/v1/books/7:archive:',
      allowed: ['GET', 'HEAD', 'DELETE', 'OPTIONS'],
      source: '/v1/books/{string_value}',
    },
    {
      verb: 'PATCH',
      path: '/v1/books',
      allowed: ['GET', 'HEAD', 'POST', 'OPTIONS'],
      source: '/v1/books',
    },
    {
      verb: 'OPTIONS',
      path: '/v1/books',
      allowed: ['GET', 'HEAD', 'POST', 'OPTIONS'],
      source: '/v1/books',
    },
    { verb: 'get', path: '/v1/books', allowed: ['GET', 'HEAD', 'POST', 'OPTIONS'], source: '/v1/books' },
    {
      verb: 'PATCH',
      path: '/v1/books/latest',
      allowed: ['GET', 'HEAD', 'DELETE', 'PUT', 'OPTIONS'],
      source: '/v1/books/latest',
    },
    {
      verb: 'PATCH',
      path: '/v1/books/7:archive',
      allowed: ['POST', 'GET', 'HEAD', 'DELETE', 'OPTIONS'],
      source: '/v1/books/{string_value}:archive',
    },
    {
      verb: 'OPTIONS',
      path: '/v1/any',
      allowed: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'],
      source: '/v1/any',
    },
    { verb: 'GET', path: '/v1/options', allowed: ['OPTIONS'], source: '/v1/options' },
  ])('of $verb $path names the HTTP methods that are allowed at $source', ({ verb, path, ...expected }) => {
    const { allowed, source } = expected;
    expect(table.find(verb, path)).toMatchObject({
      outcome: 'wrong verb',
      allowed,
      binding: { template: { source } },
    });
  });

  it.each([
    { path: '/', why: 'nothing is bound there' },
    { path: '', why: 'it is not a path' },
    { path: '*', why: 'it is not a path' },
    { path: 'v1/books', why: 'it does not begin with a slash' },
    { path: '/v1/Books', why: 'paths are case-sensitive' },
    { path: '/v1/books/', why: 'a trailing slash counts' },
    { path: '//v1/books', why: 'slashes are not merged' },
    { path: '/v1//books', why: 'no segment is empty' },
    { path: '/v1/books/7/', why: 'a trailing slash counts' },
    { path: '/v1/x/../books', why: 'dot segments are not resolved' },
    { path: '/v1/b%6Foks', why: 'an escaped letter is not the letter' },
    { path: '/v1/R%20s', why: 'only escapes are case-insensitive' },
    { path: '/v1/r%2Xs', why: 'it is not an escape' },
    { path: '/v1/files/', why: 'no segment of ** is empty' },
    { path: '/v1/files/a//b', why: 'no segment of ** is empty' },
    { path: '/v1/books/7:archive/x', why: 'a custom verb ends the path' },
    { path: '/v1', why: 'a template is matched as a whole' },
    { path: '/v1/books:archive', why: 'a custom verb belongs to its template' },
    { path: '/v1/books:', why: 'a custom verb is not empty' },
    { path: '/v1/books::', why: 'a custom verb is not empty' },
    { path: '/v1/books/latest/:', why: 'a colon alone is a segment' },
    { path: '/v1/any%3A', why: 'an escaped colon is part of a segment' },
  ])('of GET $path finds nothing: $why', ({ path }) => {
    expect(table.find('GET', path)).toEqual({ outcome: 'unknown path' });
  });
});

describe('a template of ** alone', () => {
  const all = new BindingTable([...bound('GET', '/{string_value=**}'), ...bound('GET', '/**:stat')]);

  it.each([
    { path: '/', segments: [], why: '** matches zero segments' },
    { path: '/a', segments: ['a'], why: '** matches a segment' },
    { path: '/a/b', segments: ['a', 'b'], why: '** matches several segments' },
    { path: '/:stat', segments: [], why: '** does not match the custom verb' },
    { path: '/:', segments: [':'], why: 'a custom verb is not empty' },
  ])('matches $path as $segments: $why', ({ path, segments }) => {
    expect(all.find('GET', path)).toMatchObject({ outcome: 'found', segments });
  });

  it.each([
    { path: '//', why: 'no segment is empty' },
    { path: '/a/', why: 'a trailing slash counts' },
    { path: '/a/:stat/', why: 'a trailing slash counts' },
    { path: '', why: 'it is not a path' },
    { path: '*', why: 'it is not a path' },
    { path: ':stat', why: 'it is not a path' },
    { path: 'a/b', why: 'it does not begin with a slash' },
  ])('does not match $path: $why', ({ path }) => {
    expect(all.find('GET', path)).toEqual({ outcome: 'unknown path' });
  });
});

describe('a table of bindings', () => {
  it.each([
    ['/v1/a%2a', '/v1/a%2A'],
    ['/v1/books/{string_value}', '/v1/books/{name}'],
    ['/v1/{string_value=books/*}', '/v1/books/{name}'],
    ['/v1/{string_value=**}', '/v1/**'],
    ['/v1/{string_value}:go', '/v1/*:go'],
  ])('refuses %s and %s, which match the same requests', (one, other) => {
    const bindings = [...bound('GET', one), ...bound('GET', other, 'Library.GetBook')];
    expect(() => new BindingTable(bindings)).toThrow(
      /^library\.v1\.Library\.GetBook and library\.v1\.Probe\.Echo are bound to the same requests: GET .*\.$/,
    );
  });
});
