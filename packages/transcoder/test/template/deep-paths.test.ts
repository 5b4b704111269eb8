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
    [
      'GET /v2/a/b/actionResults/f00/12',
      'variables behind it count from the end',
      `/v2/{string_value=**}/actionResults/${HASH}`,
      { stringValue: 'a/b', nested: { stringValue: 'f00', int64Value: '12' } },
    ],
    [
      'GET /v2/actionResults/f00/12',
      'it matches zero segments',
      `/v2/{string_value=**}/actionResults/${HASH}`,
      { nested: { stringValue: 'f00', int64Value: '12' } },
    ],
    [
      'GET /v2/actionResults/a/b/actionResults/f00/12',
      'it may have the words that follow it',
      `/v2/{string_value=**}/actionResults/${HASH}`,
      { stringValue: 'actionResults/a/b', nested: { stringValue: 'f00', int64Value: '12' } },
    ],
    [
      'GET /v2/a/blobs/f00/12:getTree',
      'a custom verb ends it',
      `/v2/{string_value=**}/blobs/${HASH}:getTree`,
      { stringValue: 'a', nested: { stringValue: 'f00', int64Value: '12' } },
    ],
    [
      'POST /v2/a/b/blobs:findMissing',
      'a literal follows it',
      '/v2/{string_value=**}/blobs:findMissing',
      { stringValue: 'a/b' },
    ],
    [
      'POST /v2/operations/a/b:waitExecution',
      'it may end the template as before',
      '/v2/{string_value=operations/**}:waitExecution',
      { stringValue: 'operations/a/b' },
    ],
    [
      'GET /v2/a%2Fb/c/capabilities',
      'an escaped slash stays escaped',
      '/v2/{string_value=**}/capabilities',
      { stringValue: 'a%2Fb/c' },
    ],
  ])('serves %s: %s', (request, _, source, fields) => {
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

  it.each([
    ['/f/**/info', '/f/a/info', 'a literal behind ** takes precedence over **'],
    ['/f/**', '/f/a/b/c', 'else ** does'],
    ['/f/**/info/*', '/f/b/info/c', 'the longest takes precedence'],
    ['/g/*', '/g/a', '* takes precedence over **'],
    ['/g/**/*', '/g/a/b', '* behind ** needs a segment'],
    ['/h/*/**/info', '/h/x/y/info', 'the search goes from left to right'],
  ])('finds %s for %s: %s', (source, path) => {
    const sources = ['/f/**/info', '/f/**', '/f/**/info/*', '/g/**/*', '/g/*', '/h/*/**/info'];
    const table = new BindingTable(sources.map((template) => bound('GET', template)));
    expect(table.find('GET', path)).toMatchObject({ outcome: 'found', binding: { template: { source } } });
  });

  it.each([
    ['/v1/{string_value=**}/a', '/v1/**/a'],
    ['/v1/{string_value=a/*/**}', '/v1/a/*/**/*'],
  ])('is refused where every request is that of an earlier one: %s and %s', (one, other) => {
    const pair = [bound('GET', one), bound('GET', other, 'Library.GetBook')];
    const refused = /^library\.v1\..*: GET .* is bound to library\.v1\..*, which comes first\.$/;
    expect(() => new BindingTable(pair)).toThrow(refused);
    expect(new BindingTable([bound('GET', one), bound('POST', other)]).bindings).toHaveLength(2);
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
