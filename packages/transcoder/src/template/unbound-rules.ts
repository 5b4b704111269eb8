import { httpRuleOf } from './contract-options.js';
import { registryOf } from './descriptor-set.js';
import { servedServices } from './served-services.js';

/**
 * Returns HTTP rules for the methods that have none, for the option `rules`. Each binds its method, which its selector
 * names, to `POST /package.Service/Method`, with the request message as the body.
 *
 * @param descriptorSet a serialized `google.protobuf.FileDescriptorSet`, with all imports.
 * @param services full names of the services to include. Default: as for the option `services`.
 * @throws Error with a one-sentence message if the bytes are not such a set, or a service does not exist.
 */
export function unboundRules(
  descriptorSet: Uint8Array,
  services?: readonly string[],
): { selector: string; post: string; body: string }[] {
  const registry = registryOf(descriptorSet);
  return servedServices(registry, services)
    .flatMap(({ methods }) => methods)
    .filter((method) => httpRuleOf(method) === undefined)
    .map(({ parent, name }) => ({
      selector: `${parent.typeName}.${name}`,
      post: `/${parent.typeName}/${name}`,
      body: '*',
    }));
}
