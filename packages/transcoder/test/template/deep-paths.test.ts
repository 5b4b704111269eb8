import { create, toJson } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import { HttpRuleSchema } from '../../src/gen/google/api/http_pb.js';
import { RequestMessages } from '../../src/message/request-message.js';
import { DescribedPaths } from '../../src/openapi/described-paths.js';
import { type Binding, bindingsOf } from '../../src/template/binding.js';
import { BindingTable } from '../../src/template/binding-table.js';
import { expandPathTemplate } from '../../src/template/path-template.js';
import { firstOf, methodOf, registry } from '../support/library-contract.js';

function bound(kind: string, path: string, method = 'Probe.Echo'): Binding {
  const pattern = { case: 'custom' as const, value: { kind, path } };
  return firstOf(bindingsOf(methodOf(method), create(HttpRuleSchema, { pattern })));
}

const HASH = '{nested.string_value}/{nested.int64_value}';
/** The templates of Bazel's Remote Execution API (build.bazel.remote.execution.v2), with the fields of the library. */
const REMOTE_EXECUTION = [
  ['POST', '/v2/{string_value=**}/actions:execute'],
  ['POST', '/v2/{string_value=operations/**}:waitExecution'],
  ['GET', `/v2/{string_value=**}/actionResults/${HASH}`],
  ['PUT', `/v2/{string_value=**}/actionResults/${HASH}`],
  ['POST', '/v2/{string_value=**}/blobs:findMissing'],
  ['POST', '/v2/{string_value=**}/blobs:batchUpdate'],
  ['POST', '/v2/{string_value=**}/blobs:batchRead'],
  ['GET', `/v2/{string_value=**}/blobs/${HASH}:getTree`],
  ['GET', `/v2/{string_value=**}/blobs/${HASH}:splitBlob`],
  ['POST', '/v2/{string_value=**}/blobs:spliceBlob'],
  ['GET', '/v2/{string_value=**}/capabilities'],
] as const;

const DOCUMENTS = 'projects/*/databases/*/documents';
/** Templates of google.firestore.v1. */
const FIRESTORE = [
  ['GET', `/v1/{string_value=${DOCUMENTS}/*/**}`],
  ['GET', `/v1/{string_value=${DOCUMENTS}}/{nested.string_value}`],
  ['POST', `/v1/{string_value=${DOCUMENTS}/**}/{nested.string_value}`],
  ['POST', `/v1/{string_value=${DOCUMENTS}/*/**}:runQuery`],
] as const;

const tableOf = (templates: readonly (readonly [string, string])[]): BindingTable =>
  new BindingTable(templates.map(([verb, path]) => bound(verb, path)));

/** The template that serves a request, and the fields that it sets. */
function served(table: BindingTable, verb: string, path: string): unknown {
  const found = table.find(verb, path);
  if (found.outcome !== 'found') return found.outcome;
  const { binding, segments } = found;
  const message = new RequestMessages(registry).read(binding, { segments, query: '', body: undefined });
  return [binding.template.source, toJson(binding.method.input, message)];
}

describe('a template that goes on behind **', () => {
  it.each([
    {
      request: 'GET /v2/a/b/actionResults/f00/12',
      source: `/v2/{string_value=**}/actionResults/${HASH}`,
      fields: { stringValue: 'a/b', nested: { stringValue: 'f00', int64Value: '12' } },
      why: 'variables behind it count from the end',
    },
    {
      request: 'GET /v2/actionResults/f00/12',
      source: `/v2/{string_value=**}/actionResults/${HASH}`,
      fields: { nested: { stringValue: 'f00', int64Value: '12' } },
      why: 'it matches zero segments',
    },
    {
      request: 'GET /v2/actionResults/a/b/actionResults/f00/12',
      source: `/v2/{string_value=**}/actionResults/${HASH}`,
      fields: { stringValue: 'actionResults/a/b', nested: { stringValue: 'f00', int64Value: '12' } },
      why: 'it may have the words that follow it',
    },
    {
      request: 'GET /v2/a/blobs/f00/12:getTree',
      source: `/v2/{string_value=**}/blobs/${HASH}:getTree`,
      fields: { stringValue: 'a', nested: { stringValue: 'f00', int64Value: '12' } },
      why: 'a custom verb ends it',
    },
    {
      request: 'POST /v2/a/b/blobs:findMissing',
      source: '/v2/{string_value=**}/blobs:findMissing',
      fields: { stringValue: 'a/b' },
      why: 'a literal follows it',
    },
    {
      request: 'POST /v2/operations/a/b:waitExecution',
      source: '/v2/{string_value=operations/**}:waitExecution',
      fields: { stringValue: 'operations/a/b' },
      why: 'it may end the template as before',
    },
    {
      request: 'GET /v2/a%2Fb/c/capabilities',
      source: '/v2/{string_value=**}/capabilities',
      fields: { stringValue: 'a%2Fb/c' },
      why: 'an escaped slash stays escaped',
    },
  ])('serves $request: $why', ({ request, source, fields }) => {
    const [verb = '', path = ''] = request.split(' ');
    expect(served(tableOf(REMOTE_EXECUTION), verb, path)).toEqual([source, fields]);
  });

  it.each([
    '/v2/a/capabilities/b',
    '/v2/a//capabilities',
    '/v2//capabilities',
    '/v2/a/actionResults/f00',
    '/v2/a/actionResults//12',
    '/v2',
    '/v2/a/blobs/f00/12',
  ])('does not serve GET %s', (path) => {
    expect(served(tableOf(REMOTE_EXECUTION), 'GET', path)).toBe('unknown path');
  });

  it('names the methods of a path that it has', () => {
    const lookup = tableOf(REMOTE_EXECUTION).find('DELETE', '/v2/a/actionResults/f00/12');
    expect(lookup).toMatchObject({ outcome: 'wrong verb', allowed: ['GET', 'HEAD', 'PUT', 'OPTIONS'] });
  });

  it.each([
    { request: 'GET', path: 'users', fields: ['', 'users'] },
    { request: 'GET', path: 'users/alice', fields: ['/users/alice'] },
    { request: 'POST', path: 'users', fields: ['', 'users'] },
    { request: 'POST', path: 'users/alice/posts', fields: ['/users/alice', 'posts'] },
    { request: 'POST', path: 'users/alice:runQuery', fields: ['/users/alice'] },
  ])('serves $request $path as Firestore has it', ({ request, path, fields: [parent, collection] }) => {
    const documents = 'projects/p/databases/d/documents';
    expect(served(tableOf(FIRESTORE), request, `/v1/${documents}/${path}`)).toEqual([
      expect.any(String),
      {
        stringValue: `${documents}${parent}`,
        ...(collection === undefined ? {} : { nested: { stringValue: collection } }),
      },
    ]);
  });

  it.each([
    { path: '/f/a/info', source: '/f/**/info', why: 'a literal behind ** takes precedence over **' },
    { path: '/f/a/b/c', source: '/f/**', why: 'else ** does' },
    { path: '/f/b/info/c', source: '/f/**/info/*', why: 'the longest takes precedence' },
    { path: '/g/a', source: '/g/*', why: '* takes precedence over **' },
    { path: '/g/a/b', source: '/g/**/*', why: '* behind ** needs a segment' },
    { path: '/h/a/b', source: '/h/**/*/*', why: 'two need two' },
    { path: '/h/x/y/info', source: '/h/*/**/info', why: 'the search goes from left to right' },
  ])('finds $source for $path: $why', ({ path, source }) => {
    const sources = ['/f/**/info', '/f/**', '/f/**/info/*', '/g/**/*', '/g/*', '/h/**/*/*', '/h/*/**/info'];
    const table = new BindingTable(sources.map((each) => bound('GET', each)));
    expect(table.find('GET', path)).toMatchObject({ outcome: 'found', binding: { template: { source } } });
  });

  it.each([
    ['/v1/{string_value=**}/a', '/v1/**/a'],
    ['/v1/{string_value=**}/*', '/v1/**'],
    ['/v1/**/*', '/v1/*/**'],
    ['/v1/**/*/*', '/v1/*/**/*'],
    ['/v1/**/*/*', '/v1/**/*'],
  ])('is refused where every request is that of another one: %s and %s', (one, other) => {
    const pair = [bound('GET', one), bound('GET', other, 'Library.GetBook')];
    const refused = /^library\.v1\..* and library\.v1\..* are bound to the same requests: GET .*\.$/;
    expect(() => new BindingTable(pair)).toThrow(refused);
    expect(() => new BindingTable([...pair].reverse())).toThrow(refused);
    expect(new BindingTable([bound('GET', one), bound('POST', other)]).bindings).toHaveLength(2);
  });

  it('keeps the given order of bindings', () => {
    const sources = ['/a/**/*', '/a', '/b/**/x'];
    const { bindings } = new BindingTable(sources.map((each) => bound('GET', each)));
    expect(bindings.map(({ template }) => template.source)).toEqual(sources);
  });

  it('is described with a parameter for each wildcard', () => {
    const binding = bound('GET', `/v2/{string_value=a/**/b}/blobs/${HASH}`);
    expect(new DescribedPaths().of(binding)).toMatchObject({
      path: '/v2/a/{string_value}/b/blobs/{nested_string_value}/{nested_int64_value}',
      wildcards: [
        { name: 'string_value', before: 'a/', after: '/b', rest: true },
        { name: 'nested_string_value', before: '', after: '', rest: false },
        { name: 'nested_int64_value', before: '', after: '', rest: false },
      ],
    });
  });

  it('expands to a path', () => {
    const { template } = bound('GET', `/v2/{string_value=**}/blobs/${HASH}`);
    expect(expandPathTemplate(template, ['a/b', 'f00', '12'])).toBe('/v2/a/b/blobs/f00/12');
  });
});
