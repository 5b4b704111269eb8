import {
  type DescMethod,
  fromJson,
  getOption,
  hasOption,
  type JsonObject,
  type Registry,
} from '@bufbuild/protobuf';
import { http } from '../gen/google/api/annotations_pb.js';
import { type HttpRule, HttpRuleSchema } from '../gen/google/api/http_pb.js';
import type { Unserved } from './binding.js';

/** The `google.api.http` annotation of a method; undefined for none. */
export function httpRuleOf(method: DescMethod): HttpRule | undefined {
  return hasOption(method, http) ? getOption(method, http) : undefined;
}

/**
 * Rules that replace annotations, by the method that their selector names. If several name the same method, the last
 * applies.
 *
 * @param rules `google.api.HttpRule` in ProtoJSON
 * @param onUnserved called for each selector that names no method, with a sentence
 * @throws Error with a one-sentence message if one of them is not a rule
 */
export function rulesByMethod(
  registry: Registry,
  rules: readonly JsonObject[],
  onUnserved: Unserved,
): Map<DescMethod, HttpRule> {
  const byMethod = new Map<DescMethod, HttpRule>();
  const methods = methodsByName(registry);
  for (const [index, json] of rules.entries()) {
    const rule = ruleOf(json, `rules[${index}]`);
    const method = methods.get(rule.selector);
    if (method === undefined) onUnserved(`rules[${index}]: the contract has no method "${rule.selector}".`);
    else byMethod.set(method, rule);
  }
  return byMethod;
}

/** A rule in ProtoJSON. @param place what an error calls it */
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
