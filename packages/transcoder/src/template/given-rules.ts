import { type DescMethod, fromJson, type JsonObject, type Registry } from '@bufbuild/protobuf';
import { type HttpRule, HttpRuleSchema } from '../gen/google/api/http_pb.js';
import type { Unserved } from './binding.js';

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
  for (const [index, json] of rules.entries()) {
    const rule = ruleOf(json, `rules[${index}]`);
    const method = methodOf(registry, rule.selector);
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

/** @param fullName `library.v1.Library.GetShelf` */
function methodOf(registry: Registry, fullName: string): DescMethod | undefined {
  const dot = fullName.lastIndexOf('.');
  const service = registry.getService(fullName.slice(0, dot));
  return service?.methods.find(({ name }) => name === fullName.slice(dot + 1));
}
