import {
  create,
  type FileRegistry,
  fromBinary,
  type MessageInitShape,
  setExtension,
  toBinary,
} from '@bufbuild/protobuf';
import { type FileDescriptorSet, FileDescriptorSetSchema, MethodOptionsSchema } from '@bufbuild/protobuf/wkt';
import { describe, expect, it } from 'vitest';
import { http } from '../../src/gen/google/api/annotations_pb.js';
import { HttpRuleSchema } from '../../src/gen/google/api/http_pb.js';
import { readContract } from '../../src/template/contract.js';
import { libraryDescriptorSet, registry } from '../support/library-contract.js';

/** The files of the library's contract whose names match. */
function filesOf(names: RegExp): FileDescriptorSet {
  const files = [...(registry satisfies FileRegistry).files].map(({ proto }) => proto);
  return create(FileDescriptorSetSchema, { file: files.filter(({ name }) => names.test(name)) });
}

describe('a contract', () => {
  it('has the bindings of all methods that carry an HTTP rule', () => {
    const methods = readContract(libraryDescriptorSet).bindings.map(({ method }) => method.name);
    expect(methods).toContain('CreateShelf');
    expect(methods).not.toContain('Unbound');
    expect(methods.filter((name) => name === 'GetLoan')).toHaveLength(2);
  });

  it('names its errors after the package of its services', () => {
    expect(readContract(libraryDescriptorSet).domain).toBe('library.v1');
  });

  it('is refused without HTTP rules', () => {
    const set = toBinary(
      FileDescriptorSetSchema,
      filesOf(/^google\/(protobuf\/descriptor|api\/(http|annotations))\.proto$/),
    );
    expect(() => readContract(set)).toThrow('No method of the contract can be served by google.api.http.');
  });

  it.each([
    ['Stream', { case: 'get', value: '/a' }, {}, 'streaming methods have no HTTP binding'],
    ['Upload', { case: 'post', value: '/a' }, {}, 'streaming methods have no HTTP binding'],
    ['TakeBody', { case: 'post', value: '/a' }, {}, 'google.api.HttpBody is not supported'],
    ['GiveBody', { case: 'get', value: '/a' }, {}, 'google.api.HttpBody is not supported'],
    ['HoldBody', { case: 'post', value: '/a' }, { body: 'content' }, 'google.api.HttpBody is not supported'],
    [
      'HoldBody',
      { case: 'get', value: '/a' },
      { responseBody: 'content' },
      'google.api.HttpBody is not supported',
    ],
    [
      'HoldBody',
      { case: 'get', value: '/a' },
      { additionalBindings: [{ pattern: { case: 'post', value: '/b' }, body: 'content' }] },
      'google.api.HttpBody is not supported',
    ],
  ] satisfies [string, Pattern, Rule, string][])(
    'with a rule for Unsupported.%s is refused, or served without it',
    (name, pattern, rest, reason) => {
      const set = withRule(name, { pattern, ...rest });
      const sentence = `library.v1.Unsupported.${name}: ${reason}.`;
      expect(() => readContract(set)).toThrow(sentence);
      const { bindings, skipped } = readContract(set, 'skip');
      expect(skipped).toEqual([sentence]);
      expect(bindings).toHaveLength(readContract(libraryDescriptorSet).bindings.length);
    },
  );
});

type Rule = MessageInitShape<typeof HttpRuleSchema>;
type Pattern = NonNullable<Rule['pattern']>;

/** The library with an HTTP rule for a method of its service Unsupported. */
function withRule(name: string, rule: Rule): Uint8Array {
  const set = fromBinary(FileDescriptorSetSchema, libraryDescriptorSet);
  const services = set.file.flatMap(({ service }) => service);
  const method = services
    .find((service) => service.name === 'Unsupported')
    ?.method.find((each) => each.name === name);
  if (method === undefined) throw new Error(`The library has no method Unsupported.${name}.`);
  method.options ??= create(MethodOptionsSchema);
  setExtension(method.options, http, create(HttpRuleSchema, rule));
  return toBinary(FileDescriptorSetSchema, set);
}
