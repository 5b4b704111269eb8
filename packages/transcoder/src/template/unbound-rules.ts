import { createFileRegistry } from '@bufbuild/protobuf';
import { httpRuleOf } from './contract-options.js';
import { readSet } from './descriptor-set.js';
import { servedServices } from './served-services.js';

/**
 * HTTP rules for the methods that have none, for the option `rules`: each answers `POST /package.Service/Method`, with the
 * request message as its body. The selector of a rule is the full name of its method.
 *
 * @param descriptorSet a serialized `google.protobuf.FileDescriptorSet`, with all imports.
 * @param services those whose methods are meant, by their full names. Default: as for the option `services`.
 * @throws Error with one sentence, if the bytes are no such set, or a service does not exist.
 */
export function unboundRules(
  descriptorSet: Uint8Array,
  services?: readonly string[],
): { selector: string; post: string; body: string }[] {
  const registry = createFileRegistry(readSet(descriptorSet));
  return servedServices(registry, services)
    .flatMap(({ methods }) => methods)
    .filter((method) => httpRuleOf(method) === undefined)
    .map(({ parent, name }) => ({
      selector: `${parent.typeName}.${name}`,
      post: `/${parent.typeName}/${name}`,
      body: '*',
    }));
}
