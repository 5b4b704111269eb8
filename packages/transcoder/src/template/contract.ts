import type { DescMethod, FileRegistry, JsonObject } from '@bufbuild/protobuf';
import { type Binding, bindingsOf, refuse, takesStream } from './binding.js';
import { BindingTable } from './binding-table.js';
import type { HttpRule } from '../gen/google/api/http_pb.js';
import { registryOf, servedServices } from './descriptor-set.js';
import { annotatedRule, rulesByMethod } from './http-rules.js';

/** A contract, as it is read at startup. */
export interface Contract {
  /** Its types, without comments. */
  readonly registry: FileRegistry;
  /** The bindings of all methods to serve that have an HTTP rule. */
  readonly bindings: readonly Binding[];
  /** The same bindings, for look-ups. */
  readonly table: BindingTable;
  /** The bindings of streams of requests, which are not served. */
  readonly requestStreams: BindingTable;
  /** The `domain` of errors. */
  readonly domain: string;
  /** A sentence for each reason why bindings of a method were left out. */
  readonly skipped: readonly string[];
}

/** What to do with bindings that cannot be served. */
export type UnsupportedMethods = 'refuse' | 'skip';

/** What to serve of a contract. */
export interface ContractOptions {
  /**
   * The full names of the services to serve. Each must have an HTTP rule; with `unsupported: 'skip'`, services without
   * one are left out. Default: all services in files that a buf image does not mark as imports. If the set has no such
   * marks, all services.
   */
  readonly services?: readonly string[] | undefined;
  /**
   * The `domain` of the errors that the transcoder itself returns (AIP-193). Default: the proto package of the first of
   * `services` or, without `services`, of the first service that is served; so a contract that may get another package
   * should name its domain. An OpenAPI document leaves the package of this name out of the names of its schemas.
   */
  readonly domain?: string | undefined;
  /**
   * HTTP rules as in a service's YAML file: `google.api.HttpRule` in ProtoJSON. Each replaces the annotation of the
   * method that its selector names. If several rules name the same method, the last one applies. Default: none.
   */
  readonly rules?: readonly JsonObject[] | undefined;
  /**
   * What to do with bindings that cannot be served: client and bidirectional streams, server streams if the upstream
   * has no `serverStream`, paths with `**` twice, `GET` with a body, the later of two rules for the same
   * requests, rules that are malformed or do not fit their method, and `rules` whose selector names no method. `refuse`
   * throws an Error. `skip` logs them and leaves them out; other bindings of the method are served. Default: `refuse`.
   */
  readonly unsupported?: UnsupportedMethods | undefined;
  /** Whether the upstream serves server-streaming methods. Default: true. */
  readonly serverStreams?: boolean | undefined;
}

/**
 * Reads a contract with all its imports.
 *
 * @param descriptorSet a serialized `google.protobuf.FileDescriptorSet`.
 * @throws Error with a one-sentence message if the bytes are not such a set, nothing is left to serve, a named service
 *   does not exist, one of `rules` is not a rule or, with `refuse`, a binding cannot be served or a named service has
 *   no rule.
 */
export function readContract(
  descriptorSet: Uint8Array,
  { services: names, domain, rules = [], serverStreams = true, unsupported = 'refuse' }: ContractOptions = {},
): Contract {
  const registry = registryOf(descriptorSet);
  const skipped = new Set<string>();
  const onUnserved = unsupported === 'skip' ? (sentence: string) => void skipped.add(sentence) : refuse;
  const replacements = rulesByMethod(registry, rules, onUnserved);
  const ruleOf = (method: DescMethod): HttpRule | undefined =>
    replacements.get(method) ?? annotatedRule(method);
  const named = servedServices(registry, names);
  const services = named.filter(({ methods }) => methods.some(ruleOf));
  const bare = named.find(({ methods }) => !methods.some(ruleOf));
  if (names !== undefined && bare !== undefined && unsupported === 'refuse') {
    throw new Error(`No method of the service "${bare.typeName}" has an HTTP rule.`);
  }
  const found = services
    .flatMap(({ methods }) => methods)
    .flatMap((method) => {
      const rule = ruleOf(method);
      return rule === undefined ? [] : bindingsOf(method, rule, onUnserved, serverStreams);
    });
  const table = new BindingTable(
    found.filter((binding) => !takesStream(binding)),
    onUnserved,
  );
  // Two of them may be bound to the same requests, which are refused either way.
  const requestStreams = new BindingTable(found.filter(takesStream), () => undefined);
  const { bindings } = table;
  const [first] = bindings;
  if (first === undefined) throw new Error('No method of the contract can be served by google.api.http.');
  const [home = first.method.parent] = names === undefined ? [] : services;
  return {
    registry,
    bindings,
    table,
    requestStreams,
    domain: domain ?? home.file.proto.package,
    skipped: [...skipped],
  };
}
