// A process that describes the contracts that it is sent, and answers with the problems of each.
import { describe } from '@route-registry/transcoder/openapi';
import { clientProblems, WITH_CLIENT } from './client-check.js';
import { DescriptionCheck } from './description-check.js';
import type { DescribedContract } from './descriptions.js';

const check = await DescriptionCheck.create();

async function problemsOf({ name, image }: DescribedContract): Promise<string[]> {
  const document = describe({ descriptorSet: image, unsupported: 'skip' });
  const client = WITH_CLIENT.has(name) ? await clientProblems(document) : [];
  return [...(await check.problems(document)), ...client];
}

process.on('message', (contract: DescribedContract) => {
  void problemsOf(contract)
    .catch((error: unknown) => [String(error)])
    .then((problems) => process.send?.(problems));
});
process.send?.([]);
