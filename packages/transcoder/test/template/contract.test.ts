import { create, createFileRegistry, toBinary, type FileRegistry } from '@bufbuild/protobuf';
import { FileDescriptorSetSchema, type FileDescriptorSet } from '@bufbuild/protobuf/wkt';
import { describe, expect, it } from 'vitest';
import { descriptorSet } from '../../../../src/gen/descriptor-set.js';
import { FieldBehavior } from '../../../../src/gen/google/api/field_behavior.js';
import { contractOptions } from '../../src/template/contract-options.js';
import { readContract } from '../../src/template/contract.js';
import { firstOf, libraryDescriptorSet, messageType, registry } from '../support/library-contract.js';

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

  it('may be the one that is built in', () => {
    expect(readContract(descriptorSet).bindings.length).toBeGreaterThan(0);
  });

  it('is refused without HTTP rules', () => {
    const set = toBinary(
      FileDescriptorSetSchema,
      filesOf(/^google\/(protobuf\/descriptor|api\/(http|annotations))\.proto$/),
    );
    expect(() => readContract(set)).toThrow('No method of the contract carries google.api.http.');
  });

  it('is refused without the definition of HTTP rules', () => {
    const set = toBinary(FileDescriptorSetSchema, filesOf(/^google\/protobuf\/empty\.proto$/));
    expect(() => readContract(set)).toThrow('The descriptor set does not hold google/api/annotations.proto.');
  });

  it('may be without field behaviors', () => {
    const files = filesOf(/^google\/(protobuf\/descriptor|api\/(http|annotations))\.proto$/);
    const id = firstOf(messageType('Shelf').fields);
    expect(contractOptions(registry).hasBehavior(id, FieldBehavior.OUTPUT_ONLY)).toBe(true);
    expect(contractOptions(createFileRegistry(files)).hasBehavior(id, FieldBehavior.OUTPUT_ONLY)).toBe(false);
  });
});
