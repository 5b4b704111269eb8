import { createFileRegistry, fromBinary, type DescMethod, type FileRegistry } from '@bufbuild/protobuf';
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import { bindingsOf, type Binding } from './binding.js';
import type { HttpRule } from '../gen/google/api/http_pb.js';
import { httpRuleOf } from './contract-options.js';
import { servedServices } from './served-services.js';

/** A contract as the transcoder reads it at start. */
export interface Contract {
  readonly registry: FileRegistry;
  /** The bindings of all methods to serve that carry `google.api.http`. */
  readonly bindings: readonly Binding[];
  /** The `domain` of errors. */
  readonly domain: string;
  /** A sentence for each method that was skipped because it needs an unsupported feature. */
  readonly skipped: readonly string[];
}

/** The treatment of a method that needs an unsupported feature: streaming, or `google.api.HttpBody`. */
export type UnsupportedMethods = 'refuse' | 'skip';

/** What to serve of a contract. */
export interface ContractOptions {
  /** Full names of services. Default: all in files that an image of buf does not mark as imports. */
  readonly services?: readonly string[] | undefined;
  /** Default: the proto package of the first of `services`, else of the first service with a binding. */
  readonly domain?: string | undefined;
  /** Default: `refuse`. */
  readonly unsupported?: UnsupportedMethods | undefined;
}

/**
 * Reads a contract with all its imports.
 *
 * @param descriptorSet a serialized `google.protobuf.FileDescriptorSet`.
 * @throws Error with one sentence, if no method has a binding, a named service does not exist or has no HTTP rule, a
 *   rule does not fit its method, or an unsupported method is to be refused.
 */
export function readContract(
  descriptorSet: Uint8Array,
  { services: names, domain, unsupported = 'refuse' }: ContractOptions = {},
): Contract {
  const registry = createFileRegistry(fromBinary(FileDescriptorSetSchema, descriptorSet));
  const services = servedServices(registry, names);
  const bare = services.find(({ methods }) => !methods.some(httpRuleOf));
  if (names !== undefined && bare !== undefined) {
    throw new Error(`No method of the service "${bare.typeName}" has an HTTP rule.`);
  }
  const skipped: string[] = [];
  const bindings = services
    .flatMap(({ methods }) => methods)
    .flatMap((method) => {
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
  const [home = first.method.parent] = names === undefined ? [] : services;
  return { registry, bindings, domain: domain ?? home.file.proto.package, skipped };
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
