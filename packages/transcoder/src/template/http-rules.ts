import {
  create,
  type DescMethod,
  fromJson,
  getOption,
  hasOption,
  type JsonObject,
  type Registry,
  toJson,
} from '@bufbuild/protobuf';
import { http } from '../gen/google/api/annotations_pb.js';
import { type HttpRule, HttpRuleSchema } from '../gen/google/api/http_pb.js';
import { bindingsOf, takesStream, type Unserved } from './binding.js';
import { BindingTable } from './binding-table.js';
import { registryOf, servedServices } from './descriptor-set.js';

/** The `google.api.http` annotation of a method; undefined for none. */
export function httpRuleOf(method: DescMethod): HttpRule | undefined {
  return hasOption(method, http) ? getOption(method, http) : undefined;
}

/**
 * Rules that replace annotations, by the method that their selector names. If several name the same method, the last
 * applies.
 *
 * @param rules `google.api.HttpRule` in ProtoJSON
 * @param unserved called for each selector that names no method, with a sentence
 * @throws Error with a one-sentence message if one of them is not a rule
 */
export function givenRules(
  registry: Registry,
  rules: readonly JsonObject[],
  unserved: Unserved,
): Map<DescMethod, HttpRule> {
  const given = new Map<DescMethod, HttpRule>();
  const methods = methodsByName(registry);
  for (const [index, json] of rules.entries()) {
    const rule = ruleOf(json, `rules[${index}]`);
    const method = methods.get(rule.selector);
    if (method === undefined) unserved(`rules[${index}]: the contract has no method "${rule.selector}".`);
    else given.set(method, rule);
  }
  return given;
}

function ruleOf(json: JsonObject, place: string): HttpRule {
  try {
    return fromJson(HttpRuleSchema, json);
  } catch (error) {
    throw new Error(`${place}: ${(error as Error).message}.`, { cause: error });
  }
}

/** The methods of all services, by full name: `library.v1.Library.GetShelf`. */
function methodsByName(registry: Registry): ReadonlyMap<string, DescMethod> {
  const services = [...registry].filter((type) => type.kind === 'service');
  return new Map(
    services.flatMap(({ typeName, methods }) =>
      methods.map((method) => [`${typeName}.${method.name}`, method] as const),
    ),
  );
}

/** A `google.api.HttpRule` in ProtoJSON, for the method that `selector` names. */
export interface UnboundRule extends JsonObject {
  selector: string;
}

/**
 * Returns HTTP rules for the methods that cannot be called by their own, for the option `rules`. Each binds its method,
 * which its selector names, to `POST /package.Service/Method`, with the request message as the body: as its only
 * binding, or behind those that cannot be served, about which a transcoder then still says why.
 *
 * @param descriptorSet a serialized `google.protobuf.FileDescriptorSet`, with all imports.
 * @param services full names of the services to include. Default: as for the option `services`.
 * @throws Error with a one-sentence message if the bytes are not such a set, or a service does not exist.
 */
export function unboundRules(descriptorSet: Uint8Array, services?: readonly string[]): UnboundRule[] {
  const registry = registryOf(descriptorSet);
  const methods = servedServices(registry, services).flatMap((service) => service.methods);
  const ignore = (): void => undefined;
  const rules = new Map(methods.map((method) => [method, httpRuleOf(method)]));
  const found = [...rules].flatMap(([method, rule]) =>
    rule === undefined ? [] : bindingsOf(method, rule, ignore).filter((each) => !takesStream(each)),
  );
  const served = new Set(new BindingTable(found, ignore).bindings.map(({ method }) => method));
  return methods
    .filter((method) => !served.has(method))
    .map((method) => unboundRule(method, rules.get(method)));
}

function unboundRule({ parent, name }: DescMethod, unserved: HttpRule | undefined): UnboundRule {
  const selector = `${parent.typeName}.${name}`;
  const post = `/${parent.typeName}/${name}`;
  if (unserved === undefined) return { selector, post, body: '*' };
  const binding = create(HttpRuleSchema, { pattern: { case: 'post', value: post }, body: '*' });
  const additionalBindings = [...unserved.additionalBindings, binding];
  return { ...(toJson(HttpRuleSchema, { ...unserved, additionalBindings }) as JsonObject), selector };
}
