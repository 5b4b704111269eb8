import type { DescMethod, FileRegistry, JsonObject } from '@bufbuild/protobuf';
import { type Binding, bindingsOf, refuse, takesStream } from './binding.js';
import { BindingTable } from './binding-table.js';
import type { HttpRule } from '../gen/google/api/http_pb.js';
import { registryOf, servedServices } from './descriptor-set.js';
import { givenRules, httpRuleOf } from './http-rules.js';

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

/**
 * What to do with bindings that cannot be served: `refuse` throws an Error, `skip` leaves them out. They are those of
 * streaming methods (other than server streams that the upstream serves), with `**` twice, of GET with a body,
 * and the later of two for the same requests; also those of rules that are malformed or do not fit their method, and
 * given rules whose selector names no method.
 */
export type UnsupportedMethods = 'refuse' | 'skip';

/** Options of `readContract`. */
export interface ContractOptions {
  /**
   * Full names of services; with `skip`, those without an HTTP rule are left out. Default: all in files that a buf
   * image does not mark as imports.
   */
  readonly services?: readonly string[] | undefined;
  /**
   * Default: the proto package of the first of `services` or, without `services`, of the first service with a binding.
   */
  readonly domain?: string | undefined;
  /** `google.api.HttpRule` in ProtoJSON, each of which replaces the annotation of its selector. Default: none. */
  readonly rules?: readonly JsonObject[] | undefined;
  /** Whether the upstream serves server-streaming methods. Default: true. */
  readonly serverStreams?: boolean | undefined;
  /** Default: `refuse`. */
  readonly unsupported?: UnsupportedMethods | undefined;
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
  const unserved = unsupported === 'skip' ? (sentence: string) => void skipped.add(sentence) : refuse;
  const given = givenRules(registry, rules, unserved);
  const ruleOf = (method: DescMethod): HttpRule | undefined => given.get(method) ?? httpRuleOf(method);
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
      return rule === undefined ? [] : bindingsOf(method, rule, unserved, serverStreams);
    });
  const table = new BindingTable(
    found.filter((each) => !takesStream(each)),
    unserved,
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
