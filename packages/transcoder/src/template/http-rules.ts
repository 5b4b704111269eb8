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
import type { OnUnserved } from './binding.js';

/** The rule that the `google.api.http` annotation of a method has; undefined if it has no annotation. */
export function annotatedRule(method: DescMethod): HttpRule | undefined {
  return hasOption(method, http) ? getOption(method, http) : undefined;
}

/**
 * The rules that replace annotations, by the method that their `selector` names. If several rules name the same method, the
 * last applies.
 *
 * @param rules each a `google.api.HttpRule` in ProtoJSON.
 * @param onUnserved called for each rule whose selector names no method, with a sentence.
 * @throws Error with a one-sentence message if an item of `rules` is not a rule, or what `onUnserved` throws.
 */
export function rulesByMethod(
  registry: Registry,
  rules: readonly JsonObject[],
  onUnserved: OnUnserved,
): Map<DescMethod, HttpRule> {
  const byMethod = new Map<DescMethod, HttpRule>();
  const methods = methodsByName(registry);
  for (const [index, json] of rules.entries()) {
    const place = `rules[${index}]`;
    const rule = parseRule(json, place);
    const method = methods.get(rule.selector);
    if (method === undefined) onUnserved(`${place}: the contract has no method "${rule.selector}".`);
    else byMethod.set(method, rule);
  }
  return byMethod;
}

/**
 * Reads a rule in ProtoJSON.
 *
 * @param place how an error names it: `rules[0]`.
 * @throws Error with a one-sentence message if it is not a rule.
 */
function parseRule(json: JsonObject, place: string): HttpRule {
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
