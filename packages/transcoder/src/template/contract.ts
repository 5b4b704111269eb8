import { createFileRegistry, fromBinary, type DescMethod, type FileRegistry } from '@bufbuild/protobuf';
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import { bindingsOf, type Binding } from './binding.js';
import type { HttpRule } from '../gen/google/api/http_pb.js';
import { httpRuleOf } from './contract-options.js';

/** A contract as the transcoder reads it at start. */
export interface Contract {
  readonly registry: FileRegistry;
  /** The bindings of all methods that carry `google.api.http`. */
  readonly bindings: readonly Binding[];
  /** The proto package of the first service with a binding: the `domain` of errors. */
  readonly domain: string;
  /** A sentence for each method that was skipped because it needs an unsupported feature. */
  readonly skipped: readonly string[];
}

/** The treatment of a method that needs an unsupported feature: streaming, or `google.api.HttpBody`. */
export type UnsupportedMethods = 'refuse' | 'skip';

/**
 * Reads a contract with all its imports.
 *
 * @param descriptorSet a serialized `google.protobuf.FileDescriptorSet`.
 * @throws Error with one sentence, if no method has a binding, a rule does not fit its method, or an unsupported method
 *   is to be refused.
 */
export function readContract(
  descriptorSet: Uint8Array,
  unsupported: UnsupportedMethods = 'refuse',
): Contract {
  const registry = createFileRegistry(fromBinary(FileDescriptorSetSchema, descriptorSet));
  const methods = [...registry].flatMap((type) => (type.kind === 'service' ? type.methods : []));
  const skipped: string[] = [];
  const bindings = methods.flatMap((method) => {
    const rule = httpRuleOf(method);
    if (rule === undefined) return [];
    const reason = unsupportedBecause(method, rule);
    if (reason === undefined) return bindingsOf(method, rule);
    const sentence = `${method.parent.typeName}.${method.name}: ${reason}.`;
    if (unsupported === 'refuse') throw new Error(sentence);
    skipped.push(sentence);
    return [];
  });
  const [first] = bindings;
  if (first === undefined) throw new Error('No method of the contract can be served by google.api.http.');
  return { registry, bindings, domain: first.method.parent.file.proto.package, skipped };
}

/** Why a method cannot be served over HTTP and JSON; undefined if it can. */
function unsupportedBecause({ methodKind, input, output }: DescMethod, rule: HttpRule): string | undefined {
  if (methodKind !== 'unary') return 'streaming methods have no HTTP binding';
  const bodies = [rule, ...rule.additionalBindings].flatMap(({ body, responseBody }) => [
    input.fields.find(({ name }) => name === body)?.message,
    output.fields.find(({ name }) => name === responseBody)?.message,
  ]);
  return [input, output, ...bodies].some((message) => message?.typeName === 'google.api.HttpBody')
    ? 'google.api.HttpBody is not supported'
    : undefined;
}
