import { createFileRegistry, fromBinary, type FileRegistry } from '@bufbuild/protobuf';
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import { bindingsOf, type Binding } from './binding.js';
import { contractOptions, type ContractOptions } from './contract-options.js';

/** A contract as the gateway reads it at start. */
export interface Contract {
  readonly registry: FileRegistry;
  readonly options: ContractOptions;
  /** The bindings of all methods that carry `google.api.http`. */
  readonly bindings: readonly Binding[];
  /** The proto package of the first service with a binding: the `domain` of errors. */
  readonly domain: string;
}

/**
 * Reads a contract with all its imports.
 *
 * @param descriptorSet a serialized `google.protobuf.FileDescriptorSet`.
 * @throws Error with one sentence, where no method has a binding or one cannot be served.
 */
export function readContract(descriptorSet: Uint8Array): Contract {
  const registry = createFileRegistry(fromBinary(FileDescriptorSetSchema, descriptorSet));
  const options = contractOptions(registry);
  const methods = [...registry].flatMap((type) => (type.kind === 'service' ? type.methods : []));
  const bindings = methods.flatMap((method) => {
    const rule = options.httpRule(method);
    return rule === undefined ? [] : bindingsOf(method, rule);
  });
  const [first] = bindings;
  if (first === undefined) throw new Error('No method of the contract carries google.api.http.');
  return { registry, options, bindings, domain: first.method.parent.file.proto.package };
}
