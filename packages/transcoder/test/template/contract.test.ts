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
import { type ContractOptions, readContract } from '../../src/template/contract.js';
import { branchImage, libraryDescriptorSet, registry } from '../support/library-contract.js';

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
      const { bindings, skipped } = readContract(set, { unsupported: 'skip' });
      expect(skipped).toEqual([sentence]);
      expect(bindings).toHaveLength(readContract(libraryDescriptorSet).bindings.length);
    },
  );
});

describe('the services that are served', () => {
  const [image, unmarked] = [branchImage(), branchImage('--as-file-descriptor-set')];
  const served = (set: Uint8Array, options?: ContractOptions): string[] => {
    const services = readContract(set, options).bindings.map(({ method }) => method.parent.typeName);
    return [...new Set(services)];
  };

  it('are those of an image of buf that are not in its imports', () => {
    expect(served(image)).toEqual(['branch.v1.Branch']);
  });

  it('are all where no file is marked as an import', () => {
    expect(served(unmarked)).toEqual(['library.v1.Library', 'library.v1.Probe', 'branch.v1.Branch']);
  });

  it('are those that the options name, imported or not', () => {
    const services = ['library.v1.Probe', 'branch.v1.Branch', 'library.v1.Probe'];
    expect(served(image, { services })).toEqual(['library.v1.Probe', 'branch.v1.Branch']);
    expect(served(unmarked, { services: ['branch.v1.Branch'] })).toEqual(['branch.v1.Branch']);
  });

  it.each([
    [['branch.v1.Branch', 'branch.v1.Shop'], 'The contract has no service "branch.v1.Shop".'],
    [['library.v1.Shelf'], 'The contract has no service "library.v1.Shelf".'],
    [
      ['branch.v1.Branch', 'branch.v1.Counter'],
      'No method of the service "branch.v1.Counter" has an HTTP rule.',
    ],
    [[], 'No method of the contract can be served by google.api.http.'],
  ])('cannot be %j: %s', (services, sentence) => {
    expect(() => readContract(image, { services })).toThrow(new Error(sentence));
  });

  it('are not none: an image whose only rules are in its imports is refused', () => {
    const set = fromBinary(FileDescriptorSetSchema, image);
    for (const { package: name, service } of set.file) if (name === 'branch.v1') service.splice(0);
    expect(() => readContract(toBinary(FileDescriptorSetSchema, set))).toThrow(
      'No method of the contract can be served by google.api.http.',
    );
  });
});

describe('the domain of errors', () => {
  it.each([
    { why: 'the package of the first service that is served', set: branchImage(), domain: 'branch.v1' },
    {
      why: 'the package of the first service in the set',
      set: branchImage('--as-file-descriptor-set'),
      domain: 'library.v1',
    },
    {
      why: 'the package of the first service that the options name',
      set: branchImage(),
      services: ['library.v1.Probe', 'branch.v1.Branch'],
      domain: 'library.v1',
    },
  ])('is $why', ({ set, services, domain }) => {
    expect(readContract(set, { services }).domain).toBe(domain);
  });

  it('is the one that the options name', () => {
    const options = { services: ['branch.v1.Branch'], domain: 'library.example.com' };
    expect(readContract(branchImage(), options).domain).toBe('library.example.com');
  });
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
