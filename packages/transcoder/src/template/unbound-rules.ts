import { create, type DescMethod, type JsonObject, toJson } from '@bufbuild/protobuf';
import { type HttpRule, HttpRuleSchema } from '../gen/google/api/http_pb.js';
import { bindingsOf, takesStream } from './binding.js';
import { BindingTable } from './binding-table.js';
import { registryOf, servedServices } from './descriptor-set.js';
import { annotatedRule } from './http-rules.js';

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
  const rules = new Map(methods.map((method) => [method, annotatedRule(method)]));
  const found = [...rules].flatMap(([method, rule]) =>
    rule === undefined ? [] : bindingsOf(method, rule, ignore).filter((binding) => !takesStream(binding)),
  );
  const served = new Set(new BindingTable(found, ignore).bindings.map(({ method }) => method));
  return methods
    .filter((method) => !served.has(method))
    .map((method) => unboundRule(method, rules.get(method)));
}

function unboundRule({ parent, name }: DescMethod, rule: HttpRule | undefined): UnboundRule {
  const selector = `${parent.typeName}.${name}`;
  const post = `/${parent.typeName}/${name}`;
  if (rule === undefined) return { selector, post, body: '*' };
  const binding = create(HttpRuleSchema, { pattern: { case: 'post', value: post }, body: '*' });
  const additionalBindings = [...rule.additionalBindings, binding];
  return { ...(toJson(HttpRuleSchema, { ...rule, additionalBindings }) as JsonObject), selector };
}
